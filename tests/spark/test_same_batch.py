"""A result leaves in the micro-batch of the watermark that completes it, over any number of stages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.spark.job import SparkJob, SparkOptions
from tidegate.spark.packing import Item
from tidegate.spark.routing import source_edge
from tidegate.testing import ManualSource, Watermark

pytestmark = pytest.mark.spark


def test_two_chained_windows_give_their_result_in_the_batch_of_the_watermark(spark: Any, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2)
    source = env.add_source(ManualSource(1), "input")
    results = CollectSink()
    (
        source.key_by(0)
        .window(TumblingEventTimeWindows.of("1 second"))
        .sum(1)
        .key_by(0)
        .window(TumblingEventTimeWindows.of("3 seconds"))
        .max(1)
        .sink_to(results)
    )
    job = SparkJob(env._graph(), SparkOptions(spark, 2, str(tmp_path)), "same batch")
    edge = source_edge(job.graph.uid(source._node("test")))

    def batch(*items: Item) -> int:
        job.spool.write({(0, 0): list(items)})
        job.process_all()
        number: int = job.last_progress["batchId"]
        return number

    job.start()
    try:
        first = batch(
            Item((1, ""), edge, "0", None, ("a", 1), 100),
            Item((2, ""), edge, "0", None, ("a", 2), 200),
            Item((3, ""), edge, "0", None, ("a", 9), 1500),
        )
        assert results.results == []
        second = batch(Item((4, ""), edge, "0", progress=Watermark(2999)))
        assert second == first + 1
        assert results.results == [("a", 9)]
    finally:
        job.finish()
