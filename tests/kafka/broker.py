"""A real Kafka broker for tests: one JVM on loopback, with its data in a temporary folder."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import socket
import subprocess
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

POM = Path(__file__).with_name("pom.xml")
JARS = Path(__file__).parents[2] / "build" / "kafka"
"""Fetched once; outside of what git keeps."""
JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
PATIENCE = 60.0


class Broker:
    """Starts in `__enter__`, ends in `__exit__`."""

    def __init__(self, folder: Path, jars: Path) -> None:
        broker_port, controller_port = free_ports(2)
        self.servers = f"127.0.0.1:{broker_port}"
        self._folder = folder
        self._classpath = f"{jars}/*"
        self._properties = folder / "server.properties"
        self._properties.write_text(
            f"""
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller_port}
listeners=PLAINTEXT://{self.servers},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://{self.servers},CONTROLLER://127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
log.dirs={folder / "data"}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
""",
            encoding="utf-8",
        )

    def __enter__(self) -> Broker:
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        arguments = ["format", "--standalone", f"--cluster-id={cluster}", "-c", str(self._properties)]
        done = subprocess.run(self._java("kafka.tools.StorageTool", *arguments), capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        self._log = (self._folder / "log").open("wb")
        self._process = subprocess.Popen(
            self._java("kafka.Kafka", str(self._properties)), stdout=self._log, stderr=self._log
        )
        self._wait()
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def create_topic(self, name: str, partitions: int = 1) -> str:
        """A topic that no other test uses."""
        topic = f"{name}-{uuid.uuid4().hex[:8]}"
        client = AdminClient({"bootstrap.servers": self.servers})
        client.create_topics([NewTopic(topic, partitions, 1)])[topic].result(PATIENCE)
        return topic

    def read(self, topic: str, count: int) -> list[Any]:
        """The messages of a topic: as many as are expected, and whatever comes in a moment after them."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": uuid.uuid4().hex,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": "false",
            }
        )
        consumer.subscribe([topic])
        messages: list[Any] = []
        deadline = time.monotonic() + PATIENCE
        try:
            while time.monotonic() < deadline:
                message = consumer.poll(0.5)
                if message is None:
                    if len(messages) >= count:
                        break
                elif message.error() is None:
                    messages.append(message)
        finally:
            consumer.close()
        return messages

    def _wait(self) -> None:
        client = AdminClient({"bootstrap.servers": self.servers, "log_level": "0"})
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                client.list_topics(timeout=1)
            except KafkaException:
                log = (self._folder / "log").read_text(encoding="utf-8", errors="replace")
                assert self._process.poll() is None, log
                assert time.monotonic() < deadline, log
            else:
                return

    def _java(self, *arguments: str) -> list[str]:
        home = os.environ.get("JAVA_HOME")
        java = str(Path(home) / "bin" / "java") if home else "java"
        return [java, *JVM, "-cp", self._classpath, *arguments]


def fetch_jars() -> Path:
    """The jars of the broker, fetched by Maven the first time. Skips the test where that is not possible."""
    version = hashlib.sha256(POM.read_bytes()).hexdigest()[:12]
    folder = JARS / version
    if folder.exists():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("Kafka's broker is fetched by Maven, and no 'mvn' was found on the PATH")
    whole = JARS / f".{version}.{os.getpid()}"
    command = [maven, "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={whole}"]
    done = subprocess.run([*command, "-DincludeScope=runtime"], capture_output=True, text=True)
    if done.returncode != 0:
        shutil.rmtree(whole, ignore_errors=True)
        pytest.skip(f"Maven could not fetch Kafka's broker: {(done.stdout + done.stderr).strip()[-500:]}")
    whole.rename(folder)
    return folder


def free_ports(count: int) -> list[int]:
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in servers]
    for server in servers:
        server.close()
    return ports
