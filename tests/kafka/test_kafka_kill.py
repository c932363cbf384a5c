"""The driver is killed while it reads topics; after restarts the output is that of an undisturbed run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.faults.column_job import RECORDS, records_of
from tests.faults.driver import PATIENCE, Driver, check_survives
from tests.kafka.broker import Broker

KILLS = int(os.environ.get("TIDEGATE_FAULTS", "0"))
pytestmark = [pytest.mark.spark, pytest.mark.skipif(not KILLS, reason="a minute and more: make faults")]
COLUMN_JOB = Path(__file__).parents[1] / "faults" / "column_job.py"
MINUTES = 12 * (KILLS + 1)


def test_windows_on_columns_over_a_topic_survive_kills(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic("records", partitions=2)
    # Without idempotence messages that are sent again come behind others: they would be late.
    producer = Producer({"bootstrap.servers": broker.servers, "enable.idempotence": True})
    for minute in range(MINUTES):
        for partition, channel in enumerate(("a", "b")):
            for record in records_of(channel, minute):
                producer.produce(topic, record, partition=partition)
    assert producer.flush(PATIENCE) == 0

    def start(runtime: str, folder: Path, *, is_slow: bool) -> Driver:
        limit = RECORDS * (2 if is_slow else MINUTES)
        return Driver(COLUMN_JOB, [runtime, f"kafka:{broker.servers}/{topic}", limit], folder)

    check_survives(start, tmp_path, kills=KILLS, awaited="query/offsets", names=["windows", "sessions"])
