"""A job on a standalone Spark cluster of several worker processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.standalone import standalone_cluster

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


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    with standalone_cluster(tmp_path) as url:
        yield url


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
