"""A result leaves in the micro-batch of the watermark that completes it, over any number of stages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.engine.job_options import SparkOptions
from tidegate.engine.messages import Element, Message, Moved, Target
from tidegate.spark.query.job import SparkJob
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
    job = SparkJob(env._graph(), SparkOptions(spark, str(tmp_path)), "same batch")
    uid = job.plan.by_number[source._node("test").number].uid

    def batch(*messages: Message) -> int:
        job.spool.write({Target(0, 0): list(messages)})
        job.process_all()
        number: int = job.last_progress["batchId"]
        return number

    job.start()
    try:
        first = batch(
            Element((1, ""), uid, "0", None, ("a", 1), 100),
            Element((2, ""), uid, "0", None, ("a", 2), 200),
            Element((3, ""), uid, "0", None, ("a", 9), 1500),
        )
        assert results.results == []
        second = batch(Moved((4, ""), uid, "0", Watermark(2999)))
        assert second == first + 1
        assert results.results == [("a", 9)]
    finally:
        job.finish()
