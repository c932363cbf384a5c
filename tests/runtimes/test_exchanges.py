"""Where elements go is decided once: the same subtasks, and the same errors, on both runtimes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from tests.runtimes.conftest import Runtime, on

from tidegate.datastream import CollectSink, DataStream
from tidegate.datastream.functions import MapFunction, ProcessFunction, RuntimeContext
from tidegate.errors import InvalidValueError, UserCodeError

ELEMENTS = [(f"k{number % 4}", number) for number in range(12)]


class Count(MapFunction):
    """Counts what it has seen in a field of its own."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._place = runtime_context.get_index_of_this_subtask(), runtime_context.get_number_of_parallel_subtasks()
        self._count = 0

    def map(self, value: Any) -> Any:
        self._count += 1
        return *self._place, self._count


class Where(ProcessFunction):
    """Says in which subtask an element came."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._index = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield self._index, value


def partition(key: Any, num_partitions: int) -> int:
    return int(num_partitions) - 1


def test_an_operator_without_a_key_has_as_many_subtasks_as_it_says(runtime: Runtime) -> None:
    env = runtime.environment(parallelism=2)
    elements = env.from_collection(ELEMENTS)
    sinks = [CollectSink() for _ in range(4)]
    elements.key_by(0).sum(1).map(Count()).set_parallelism(1).sink_to(sinks[0])
    elements.key_by(0).sum(1).map(Count()).force_non_parallel().sink_to(sinks[1])
    elements.partition_custom(partition, 0).process(Where()).set_parallelism(5).sink_to(sinks[2])
    elements.rebalance().process(Where()).set_parallelism(3).sink_to(sinks[3])
    env.execute("parallelism of one's own")
    in_one_place = [(0, 1, number) for number in range(1, 13)]
    assert sorted(sinks[0].results) == in_one_place
    assert sorted(sinks[1].results) == in_one_place
    assert sorted(sinks[2].results) == [(4, element) for element in sorted(ELEMENTS)]
    assert Counter(index for index, _ in sinks[3].results) == {0: 4, 1: 4, 2: 4}


def to_five(stream: DataStream) -> DataStream:
    return stream.forward().process(Where()).name("five").set_parallelism(5)


def nowhere(stream: DataStream) -> DataStream:
    return stream.partition_custom(lambda key, count: count, 0).process(Where())


def nothing(stream: DataStream) -> DataStream:
    return stream.partition_custom(lambda key, count: None, 0).process(Where())


def raising(stream: DataStream) -> DataStream:
    return stream.partition_custom(lambda key, count: 1 // 0, 0).process(Where())


WRONG = {
    "forward": (to_five, InvalidValueError, "forward: collection has parallelism 1 and five has 5"),
    "nowhere": (
        nowhere,
        InvalidValueError,
        "process Where: the partitioner gave 2 for ('k0', 0); it must give an index from 0 to 1",
    ),
    "nothing": (
        nothing,
        InvalidValueError,
        "process Where: the partitioner gave None for ('k0', 0); it must give an index from 0 to 1",
    ),
    "raising": (raising, UserCodeError, "process Where: the partitioner raised ZeroDivisionError"),
}


@pytest.mark.parametrize(
    ("runtime", "how"),
    [*(on("local", how) for how in WRONG), on("spark", "forward"), on("spark", "nowhere")],
    indirect=["runtime"],
)
def test_a_wrong_way_is_the_same_error(runtime: Runtime, how: str) -> None:
    build, kind, message = WRONG[how]
    env = runtime.environment(parallelism=2)
    build(env.from_collection(ELEMENTS)).sink_to(CollectSink())
    with pytest.raises(Exception, match=re.escape(message)) as caught:
        env.execute("wrong way")
    assert isinstance(caught.value, kind)
