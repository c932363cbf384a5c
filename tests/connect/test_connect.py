"""Programs over Spark Connect: a server in its own JVM, a client in its own process."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

pytestmark = pytest.mark.spark

CLIENT = Path(__file__).with_name("client.py")
START_SECONDS = 120


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a Connect server, which is stopped afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [
        str(submit),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2]"),
        *("--conf", f"spark.connect.grpc.binding.port={port}"),
        *("--conf", "spark.connect.grpc.binding.address=127.0.0.1"),
        *("--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1", "spark-internal"),
    ]
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(CLIENT.parent),
        "SPARK_NO_DAEMONIZE": "1",
    }
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=log, stderr=log)
    try:
        _await_port(port, process, tmp_path / "server.log")
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=60)


def _await_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail(f"the Connect server did not start:\n{log.read_text(errors='replace')[-3000:]}")


def test_programs_run_over_spark_connect(server: str, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, str(CLIENT), server, str(tmp_path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr[-3000:]
    found = json.loads(result.stdout.splitlines()[-1])
    assert found["two_sinks"] == {
        "results": [["a", 1_000], ["a", 62_000], ["b", 61_000]],
        "late": [["b", 2_000]],
        "files": ["('a', 1000)", "('a', 62000)", "('b', 61000)"],
    }
    assert found["frames"] == [["a", 0, 1], ["a", 60, 1], ["b", 0, 1], ["b", 60, 1]]
    assert found["files"] == [[user, minute, 1] for user in ("a", "b") for minute in (0, 60, 120)]
    assert found["failure"].startswith("divide: ZeroDivisionError")
