"""A password that a source is given stands nowhere that others read: no plan, log, error, checkpoint or event log."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kafka.broker import Broker
from tests.kafka.test_kafka_source import orders, send

pytestmark = pytest.mark.spark

SECRET = "correct-horse-battery-staple"
PROGRAM = f"""
import sys
from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.datastream import StreamExecutionEnvironment
from tidegate.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from tidegate.datastream.window import TumblingEventTimeWindows

source = (
    KafkaSource.builder().set_bootstrap_servers(sys.argv[1]).set_topics(sys.argv[2])
    .set_bounded(KafkaOffsetsInitializer.latest()).set_json_schema("user string, ts long, amount long")
    .set_property("sasl.username", "me").set_property("sasl.password", "{SECRET}").build()
)
env = StreamExecutionEnvironment.get_execution_environment(parallelism=2)
strategy = WatermarkStrategy.for_bounded_out_of_orderness("10 seconds").with_timestamp_column("ts")
windows = env.from_source(source, strategy, "orders").key_by("user").window(TumblingEventTimeWindows.of("1 minute"))
windows.agg(total=agg.sum("amount")).print()
print(repr(source), env.explain(), env.get_execution_plan())
env.execute()
"""


def disguises(secret: str) -> Iterator[bytes]:
    """A text as it may stand somewhere: plain, or inside of more that was encoded."""
    yield secret.encode()
    yield secret.encode().hex().encode()
    for shift in range(3):
        encoded = base64.b64encode(b"x" * shift + secret.encode())
        yield encoded[4:-4]


def test_a_password_stands_nowhere(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic("secrets")
    send(broker, topic, 0, orders(0, 3))
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "events").mkdir()
    on_spark = ["--on", "spark", "--checkpoint", str(tmp_path / "kept")]
    on_spark += ["--set", "spark.eventLog.enabled=true", "--set", f"spark.eventLog.dir=file://{tmp_path}/events"]
    where = {name: value for name, value in os.environ.items() if not name.startswith("TIDEGATE_")}
    for name, options in ((topic, on_spark), ("nowhere", ["--on", "local"])):
        program = [str(tmp_path / "program.py"), "--", broker.servers, name]
        done = subprocess.run(
            [sys.executable, "-m", "tidegate.cli", "run", *options, *program],
            capture_output=True,
            text=True,
            timeout=300,
            env=where,
        )
        (tmp_path / f"said of {name}").write_text(done.stdout + done.stderr)
        assert (done.returncode == 0) == (name == topic), done.stderr
    (tmp_path / "program.py").unlink()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any("events" in path.parts for path in files)
    found = [path for path in files for text in disguises(SECRET) if text in path.read_bytes()]
    assert found == []
