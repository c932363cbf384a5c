"""A standalone Spark cluster of several worker processes, on loopback."""

from __future__ import annotations

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

PROGRAM = """
import sys
from pyspark.sql import SparkSession
from tidegate.common import Time, WatermarkStrategy
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows

spark = (
    SparkSession.builder.master(sys.argv[1])
    .config("spark.ui.enabled", "false")
    .config("spark.executor.memory", "512m")
    .config("spark.executor.cores", "1")
    .config("spark.cores.max", "2")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .getOrCreate()
)
env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2, checkpoint=sys.argv[2])
results = CollectSink()
(
    env.from_collection([(f"k{i % 7}", i) for i in range(1000)])
    .assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: pair[1])
    )
    .key_by(0)
    .window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
    .reduce(lambda a, b: (a[0], a[1] + b[1]))
    .sink_to(results)
)
env.execute("cluster")
print("RESULT", len(results.results), sum(total for _, total in results.results))
spark.stop()
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """A master and two workers; they are ended with the test."""
    home = Path(pyspark.__file__).parent
    port = free_port()
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
        "SPARK_DAEMON_MEMORY": "256m",
    }

    def spawn(*arguments: str) -> subprocess.Popen[bytes]:
        command = [str(home / "bin" / "spark-class"), *arguments]
        with (tmp_path / f"{arguments[0].rsplit('.', 1)[-1]}-{len(processes)}.log").open("wb") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)

    processes: list[subprocess.Popen[bytes]] = []
    url = f"spark://127.0.0.1:{port}"
    processes.append(
        spawn("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
    )
    _wait_for(port)
    worker = ("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "700m", url)
    processes += [spawn("org.apache.spark.deploy.worker.Worker", *worker) for _ in range(2)]
    try:
        yield url
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(30)


def _wait_for(port: int) -> None:
    for _ in range(120):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.25)
        else:
            return
    raise AssertionError("the master did not start")


def test_a_job_runs_on_a_cluster_of_several_worker_processes(master: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, str(program), master, str(tmp_path / "checkpoint")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert "RESULT 70 499500" in done.stdout, done.stderr[-3000:]
