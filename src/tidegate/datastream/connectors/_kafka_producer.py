"""A Kafka producer on confluent-kafka: sends in the background, and tells what was not delivered."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from tidegate.errors import DeliveryError, InvalidValueError
from tidegate.ingest.kafka_library import BOOTSTRAP, property_problem

_DEFAULTS: Final = {
    # Those of the Java client, which Flink uses: equal keys go to equal partitions, and 'delivery' ends in two minutes.
    "partitioner": "murmur2_random",
    "delivery.timeout.ms": "120000",
}
_IDEMPOTENCE: Final = "enable.idempotence"
_AGAINST_IDEMPOTENCE: Final = frozenset(
    {
        *("acks", "request.required.acks", "retries", "message.send.max.retries"),
        *("max.in.flight", "max.in.flight.requests.per.connection", "queuing.strategy"),
    }
)
_SAME_PROPERTY: Final = {"message.timeout.ms": "delivery.timeout.ms"}
_POLL_SECONDS: Final = 0.1
_CLOSE_SECONDS: Final = 1.0


def complete(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties with Tidegate's defaults behind them.

    >>> complete({"bootstrap.servers": "localhost:9092", "acks": "1"})["partitioner"]
    'murmur2_random'
    """
    given = {_SAME_PROPERTY.get(name, name): value for name, value in properties.items()}
    result = {**_DEFAULTS, **given}
    if _IDEMPOTENCE not in given and not _AGAINST_IDEMPOTENCE & given.keys():
        result[_IDEMPOTENCE] = "true"
    return result


class KafkaProducer:
    """Sends records. `send` and `flush` raise what became of earlier ones."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        import confluent_kafka

        self._servers = properties[BOOTSTRAP]
        self._failure: DeliveryError | None = None
        self._trouble = ""
        settings: dict[str, Any] = {**complete(properties), "error_cb": self._on_error}
        try:
            # The library writes to standard error unless it has a logger.
            self._producer = confluent_kafka.Producer(settings, logger=logging.getLogger("tidegate.kafka"))
        except (confluent_kafka.KafkaException, ValueError, TypeError) as error:
            raise InvalidValueError(f"KafkaSink: {property_problem(error, properties)}") from error

    def send(self, topic: str, key: bytes | None, value: bytes | None, timestamp: int | None) -> None:
        """Queue a record; waits while the queue is full. A timestamp is in milliseconds since 1970."""
        import confluent_kafka

        # As in Flink, a record of before 1970 has no timestamp for Kafka. The library takes 0 for that of the clock.
        stamp = max(timestamp or 0, 0)
        while True:
            try:
                self._producer.produce(topic, value=value, key=key, on_delivery=self._on_delivery, timestamp=stamp)
            except BufferError:
                self._producer.poll(_POLL_SECONDS)
                self._raise_failure()
            except confluent_kafka.KafkaException as error:
                raise self._failed(topic, error.args[0]) from error
            else:
                break
        self._producer.poll(0)
        self._raise_failure()

    def flush(self) -> None:
        """Wait until everything that was sent is delivered, or has failed."""
        # In short steps: Ctrl-C has no effect while the library waits.
        while self._producer.flush(_POLL_SECONDS) > 0:
            self._raise_failure()
        self._raise_failure()

    def close(self) -> None:
        """Forget what was not delivered."""
        self._producer.purge()
        self._producer.flush(_CLOSE_SECONDS)

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None and self._failure is None:
            self._failure = self._failed(message.topic(), error)

    def _on_error(self, error: Any) -> None:
        self._trouble = f" ({error.str()})"

    def _failed(self, topic: str, error: Any) -> DeliveryError:
        return DeliveryError(
            f"KafkaSink: topic {topic!r} on {self._servers}: {error.str()}{self._trouble}; the job goes on from its "
            "checkpoint when it is started again"
        )

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure
