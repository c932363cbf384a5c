"""A Kafka consumer on confluent-kafka: asks for partitions and offsets, and reads ranges of offsets."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tidegate.errors import FetchError, InvalidValueError
from tidegate.ingest.kafka_library import BOOTSTRAP, check_library, property_problem
from tidegate.ingest.kafka_offsets import OffsetKind, OffsetRange, OffsetRule, Offsets, lost

_DEFAULTS: Final = {"group.id": "tidegate", "fetch.wait.max.ms": "100"}
_OURS: Final = {"enable.auto.commit": "false", "enable.auto.offset.store": "false", "enable.partition.eof": "true"}
_SMALL_FETCHES: Final = {"fetch.message.max.bytes": "1", "queued.min.messages": "1"}
_AT_ONCE: Final = 10_000
_WAIT_SECONDS: Final = 0.1
_ASK_SECONDS: Final = 30.0
_SILENCE_SECONDS: Final = 60.0
_EARLIEST_TIME: Final = -2
_LATEST_TIME: Final = -1


class KafkaClient:
    """One consumer without a group's protocol: partitions are assigned by hand, and nothing is committed.

    With `is_looking` it fetches as little as it can.
    """

    def __init__(self, properties: Mapping[str, str], *, skips_lost: bool = False, is_looking: bool = False) -> None:
        check_library("KafkaSource")
        import confluent_kafka

        self._servers = properties[BOOTSTRAP]
        self._trouble = ""
        reset = {"auto.offset.reset": "earliest" if skips_lost else "error"}
        settings: dict[str, Any] = {**_DEFAULTS, **properties, **_OURS, **reset, "error_cb": self._on_error}
        if is_looking:
            settings |= _SMALL_FETCHES
        try:
            # The library writes to standard error unless it has a logger.
            self._consumer: Any = confluent_kafka.Consumer(settings, logger=logging.getLogger("tidegate.kafka"))
        except (confluent_kafka.KafkaException, ValueError, TypeError) as error:
            raise InvalidValueError(f"KafkaSource: {property_problem(error, properties)}") from error

    def __enter__(self) -> KafkaClient:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._consumer.close()

    def partitions(self, topics: Sequence[str]) -> list[str]:
        """The partitions of these topics, as `topic/partition`."""
        found: list[str] = []
        for topic in topics:
            described = self._ask(self._consumer.list_topics, topic).topics[topic]
            if described.error is not None:
                raise FetchError(f"KafkaSource: topic {topic!r} on {self._servers}: {described.error.str()}")
            found += [f"{topic}/{number}" for number in sorted(described.partitions)]
        return found

    def earliest(self, partitions: Iterable[str]) -> Offsets:
        """The first offset that is there."""
        return self._at_time(partitions, _EARLIEST_TIME)

    def latest(self, partitions: Iterable[str]) -> Offsets:
        """Behind the last offset that may be read."""
        return self._at_time(partitions, _LATEST_TIME)

    def resolve(self, rule: OffsetRule, partitions: Sequence[str]) -> Offsets:
        """The offsets that a rule means now."""
        if rule.kind is OffsetKind.TIMESTAMP:
            found = self._at_time(partitions, rule.timestamp)
            # No record is that young.
            return {**found, **self.latest([name for name in partitions if found[name] < 0])}
        if rule.kind is OffsetKind.EARLIEST:
            return self.earliest(partitions)
        if rule.kind is OffsetKind.LATEST:
            return self.latest(partitions)
        known = dict(rule.given) if rule.kind is OffsetKind.GIVEN else self._committed(partitions)
        rest = [name for name in partitions if name not in known]
        if rest and rule.otherwise is None:
            raise FetchError(
                f"KafkaSource: there is no {rule.kind.value} offset for {', '.join(rest)}; give "
                "KafkaOffsetResetStrategy.EARLIEST or LATEST for those"
            )
        others = self.resolve(OffsetRule(rule.otherwise), rest) if rest and rule.otherwise is not None else {}
        return {name: known[name] if name in known else others[name] for name in partitions}

    def read(self, part: OffsetRange) -> Iterator[list[Any]]:
        """The messages of a range, in order.

        Offsets without a message (transactions, compaction) are passed over: the end of the partition, or a message
        behind the range, says that there is nothing more.
        """
        self._consumer.assign(_places({part.partition: part.first}))
        position = part.first
        deadline = time.monotonic() + _SILENCE_SECONDS
        while position < part.until:
            messages: list[Any] = []
            for message in self._consumer.consume(min(_AT_ONCE, part.until - position), _WAIT_SECONDS):
                if message.error() is None:
                    position = max(position, message.offset() + 1)
                    if message.offset() < part.until:
                        messages.append(message)
                elif self._is_end(message, part.first):
                    position = max(position, message.offset())
            if messages:
                deadline = time.monotonic() + _SILENCE_SECONDS
                yield messages
            elif time.monotonic() > deadline:
                raise self._failed(part.partition, f"nothing came for {_SILENCE_SECONDS:.0f} s at offset {position}")
        self._consumer.unassign()

    def first_messages(self, positions: Mapping[str, int]) -> dict[str, Any]:
        """The first message at each position or behind it; none of a partition that ends there."""
        found: dict[str, Any] = {}
        waiting = dict(positions)
        self._consumer.assign(_places(waiting))
        deadline = time.monotonic() + _SILENCE_SECONDS
        while waiting:
            for message in self._consumer.consume(len(waiting), _WAIT_SECONDS):
                name = f"{message.topic()}/{message.partition()}"
                if message.error() is not None and not self._is_end(message, positions.get(name, 0)):
                    continue
                if name in waiting:
                    if message.error() is None:
                        found[name] = message
                    del waiting[name]
                    self._consumer.incremental_unassign(_places([name]))
                    deadline = time.monotonic() + _SILENCE_SECONDS
            if waiting and time.monotonic() > deadline:
                raise self._failed(next(iter(waiting)), f"nothing came for {_SILENCE_SECONDS:.0f} s")
        self._consumer.unassign()
        return found

    def _is_end(self, message: Any, first: int) -> bool:
        """Whether what came instead of a message is the end of its partition; False if it will be tried again."""
        from confluent_kafka import KafkaError

        error = message.error()
        name = f"{message.topic()}/{message.partition()}"
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise lost(name, first, error.str())
        is_end: bool = error.code() == KafkaError._PARTITION_EOF
        if not is_end and not error.retriable():
            raise self._failed(name, error.str())
        return is_end

    def _committed(self, partitions: Iterable[str]) -> Offsets:
        found = self._ask(self._consumer.committed, _places(partitions))
        return {f"{place.topic}/{place.partition}": place.offset for place in found if place.offset >= 0}

    def _at_time(self, partitions: Iterable[str], millis: int) -> Offsets:
        places = _places(dict.fromkeys(partitions, millis))
        if not places:
            return {}
        found = self._ask(self._consumer.offsets_for_times, places)
        for place in found:
            if place.error is not None:
                raise self._failed(f"{place.topic}/{place.partition}", place.error.str())
        return {f"{place.topic}/{place.partition}": place.offset for place in found}

    def _ask(self, question: Any, argument: Any) -> Any:
        import confluent_kafka

        try:
            return question(argument, timeout=_ASK_SECONDS)
        except confluent_kafka.KafkaException as error:
            raise FetchError(f"KafkaSource: {self._servers}: {error.args[0].str()}{self._trouble}") from error

    def _failed(self, partition: str, said: str) -> FetchError:
        return FetchError(f"KafkaSource: partition {partition} on {self._servers}: {said}{self._trouble}")

    def _on_error(self, error: Any) -> None:
        self._trouble = f" ({error.str()})"


def _places(partitions: Iterable[str] | Mapping[str, int]) -> list[Any]:
    """Partitions as the library knows them, with their offsets, or times, if they have any."""
    from confluent_kafka import OFFSET_INVALID, TopicPartition

    offsets = partitions if isinstance(partitions, Mapping) else dict.fromkeys(partitions, OFFSET_INVALID)
    split = ((*name.rpartition("/"), offset) for name, offset in offsets.items())
    return [TopicPartition(topic, int(number), offset) for topic, _, number, offset in split]
