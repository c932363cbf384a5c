"""Watermark alignment of Kafka's partitions: the driver looks at the record that each would give next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.core.time.millis import MIN_TIME, check_timestamp
from tidegate.core.watermark.alignment import AlignmentParameters, channels_to_read
from tidegate.core.watermark.timestamps import TimestampAssigner
from tidegate.ingest.kafka_client import KafkaClient
from tidegate.ingest.kafka_offsets import Offsets
from tidegate.ingest.kafka_topics import KafkaTopics


@dataclass(slots=True)
class KafkaAlignment:
    """Holds back the partitions whose next record is too far ahead of the others'.

    A partition with nothing to read holds nobody back. One whose next record has no time that can be told is where it
    was before: whoever reads the record says what is wrong with it.
    """

    parameters: AlignmentParameters
    assigner: TimestampAssigner
    source: KafkaTopics
    _times: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    """The offset of each partition that was looked at last, and the time there."""

    def limit(self, client: KafkaClient, start: Offsets, until: Offsets) -> Offsets:
        """How far a batch may read: up to `until`, or nothing of those that wait."""
        waiting = {name: offset for name, offset in start.items() if offset < until[name]}
        self._look(client, waiting)
        known = {name: time for name in waiting if (time := self._times[name][1]) is not None}
        held = known.keys() - channels_to_read(self.parameters, known)
        return {name: start[name] if name in held else offset for name, offset in until.items()}

    def _look(self, client: KafkaClient, positions: Mapping[str, int]) -> None:
        moved = {name: offset for name, offset in positions.items() if self._times.get(name, (None,))[0] != offset}
        messages = client.first_messages(moved) if moved else {}
        for name, offset in moved.items():
            _, before = self._times.get(name, (0, None))
            time = self._time(messages.get(name), name)
            self._times[name] = offset, before if time is None else time

    def _time(self, message: Any, partition: str) -> int | None:
        if message is None:
            return None
        try:
            for element, timestamp in self.source.elements([message], partition):
                earlier = MIN_TIME if timestamp is None else timestamp
                time = check_timestamp(self.assigner.extract_timestamp(element, earlier), partition)
                return None if time == MIN_TIME else time
        except Exception:
            return None
        return None
