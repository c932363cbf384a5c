"""Where reading topics began, and where it ends: written beside the checkpoint, so that a restart means the same."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path

from tidegate.errors import SnapshotError
from tidegate.ingest.kafka_client import KafkaClient
from tidegate.ingest.kafka_offsets import OffsetKind, OffsetRule, Offsets, check_nothing_lost
from tidegate.ingest.kafka_topics import KafkaTopics
from tidegate.storage.kept_file import KeptFile


class KafkaLog:
    """The first offset of each partition that was found, and the last if the source has one.

    Both are written down before they count. Partitions that are found later are read from their beginning.
    """

    def __init__(self, path: Path, source: KafkaTopics, client: KafkaClient) -> None:
        self._file = KeptFile(path, "kafka_offsets")
        self._source = source
        self.client = client
        self._next_look = 0.0
        self._starts, self._stops = self._load()

    def end(self) -> Offsets:
        """Behind everything that may be read now."""
        self._discover()
        latest = self.client.latest(self._starts)
        return {name: min(latest[name], self._stops.get(name, latest[name])) for name in sorted(latest)}

    def positions(self, start: Mapping[str, int], end: Mapping[str, int]) -> Offsets:
        """Where a batch begins: partitions that have not been read begin where the log says."""
        unknown = [name for name in end if name not in start and name not in self._starts]
        if unknown:
            raise SnapshotError(
                f"{self._file.path} does not know where {', '.join(unknown)} began; restore all of the checkpoint, or "
                "start from a new one"
            )
        return {name: start[name] if name in start else self._starts[name] for name in end}

    def check(self, start: Mapping[str, int], until: Mapping[str, int]) -> None:
        """Raise where records that come next have been deleted."""
        waiting = {name: first for name, first in start.items() if until[name] != first}
        if waiting and self._source.fails_on_loss:
            check_nothing_lost(waiting, self.client.earliest(waiting), until)

    def close(self) -> None:
        self.client.close()

    def _discover(self) -> None:
        source = self._source
        is_first = not self._starts
        if not is_first and (source.stopping is not None or time.monotonic() < self._next_look):
            return
        self._next_look = time.monotonic() + source.discovery_millis / 1_000
        found = [name for name in self.client.partitions(source.topics) if name not in self._starts]
        if not found:
            return
        rule = source.starting if is_first else OffsetRule(OffsetKind.EARLIEST)
        self._starts.update(self.client.resolve(rule, found))
        if source.stopping is not None:
            self._stops = self.client.resolve(source.stopping, found)
        self._save()

    def _save(self) -> None:
        self._file.write(json.dumps({"starts": self._starts, "stops": self._stops}).encode())

    def _load(self) -> tuple[Offsets, Offsets]:
        saved = self._file.load(json.loads)
        return ({}, {}) if saved is None else (dict(saved["starts"]), dict(saved["stops"]))
