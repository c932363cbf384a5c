"""The environment: sources, settings, and how a program is run."""

from __future__ import annotations

from typing import Any

import pytest
from tests.datastream.running import BY_SECOND_FIELD, collect, local

from tidegate.common import Configuration, WatermarkStrategy
from tidegate.datastream import CollectSink, RuntimeExecutionMode, StreamExecutionEnvironment, TimeCharacteristic
from tidegate.datastream.sources import NumberSequenceSource
from tidegate.graph.nodes import SourceNode


def test_elements_come_from_lists_arguments_and_ranges() -> None:
    assert collect(local().from_collection(iter([1, 2]))) == [1, 2]
    assert collect(local().from_elements("a", "b")) == ["a", "b"]
    assert collect(local().from_range(1, 3)) == [1, 2, 3]
    assert collect(local().from_sequence(5, 5)) == [5]
    assert collect(local().from_collection([])) == []


def test_a_range_may_have_several_channels_that_are_read_in_turn() -> None:
    assert collect(local().from_range(1, 7, 3)) == [1, 2, 3, 4, 5, 6, 7]


def test_a_source_with_a_strategy_is_stamped_for_each_of_its_channels() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    stream = local().from_source(NumberSequenceSource(1, 25, 2), strategy, "numbers")
    sums = stream.key_by(lambda value: 0).time_window("10 ms").sum()
    assert collect(sums) == [sum(range(1, 10)), sum(range(10, 20)), sum(range(20, 26))]


def test_a_source_without_a_strategy_is_not_stamped() -> None:
    stream = local().from_source(NumberSequenceSource(1, 2), WatermarkStrategy.no_watermarks(), "numbers")
    assert isinstance(stream._node("test"), SourceNode)
    assert stream.get_name() == "numbers"
    assert collect(stream) == [1, 2]


def test_a_program_runs_once() -> None:
    env = local()
    sink = CollectSink()
    env.from_elements(1).sink_to(sink)
    env.execute("first")
    assert sink.results == [1]
    with pytest.raises(ValueError, match="everything that was built has run already"):
        env.execute("second")


def test_collecting_runs_the_rest_of_the_program_too() -> None:
    env = local()
    sink = CollectSink()
    numbers = env.from_elements(1, 2)
    numbers.map(lambda value: -value).sink_to(sink)
    assert collect(numbers) == [1, 2]
    assert sink.results == [-1, -2]


def test_an_execution_tells_its_id_and_time() -> None:
    env = local()
    env.from_elements(1).sink_to(CollectSink())
    result = env.execute("named")
    assert result.get_net_runtime() >= 0
    assert str(result.get_job_id())


def test_settings_of_flink_are_accepted() -> None:
    env = local()
    same = (
        env.set_max_parallelism(8)
        .set_buffer_timeout(5)
        .disable_operator_chaining()
        .set_runtime_mode(RuntimeExecutionMode.STREAMING)
        .enable_checkpointing(1000)
        .set_parallelism(3)
    )
    assert same is env
    assert env.get_parallelism() == 3
    assert env.get_max_parallelism() == 8
    assert env.get_stream_time_characteristic() is TimeCharacteristic.EventTime
    env.close()


def test_a_configuration_sets_the_parallelism() -> None:
    configuration = Configuration()
    configuration.set_integer("parallelism.default", 4)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, runtime="local")
    assert env.get_parallelism() == 4


@pytest.mark.parametrize("interval", [0, 50])
def test_without_periodic_watermarks_windows_close_at_the_end(interval: int) -> None:
    env = local()
    env.get_config().set_auto_watermark_interval(interval)
    stream: Any = env.from_collection([("a", 1), ("a", 50)]).assign_timestamps_and_watermarks(BY_SECOND_FIELD)
    assert collect(stream.key_by(0).time_window("10 ms").sum(1)) == [("a", 1), ("a", 50)]
