from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tidegate.common import Time
from tidegate.datastream import CollectSink, DataStream, MapFunction, StreamExecutionEnvironment
from tidegate.errors import InvalidTypeError, InvalidValueError
from tidegate.testing import ManualSource


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=2)


def uids(build: Callable[[DataStream], Any]) -> dict[str, str]:
    """The uids of a program by the names of its operators."""
    env = environment()
    build(env.add_source(ManualSource(1), "clicks"))
    graph = env._graph()
    return {graph.name(node): graph.uid(node) for node in graph.nodes}


def counts(stream: DataStream) -> DataStream:
    return stream.key_by(0).time_window(Time.seconds(1)).sum(1).name("counts")


def base(stream: DataStream) -> None:
    counts(stream).sink_to(CollectSink()).name("out")


# Stable uids


def test_the_same_program_has_the_same_uids_every_time() -> None:
    assert uids(base) == uids(base)
    assert set(uids(base)) == {"clicks", "counts", "out"}


@pytest.mark.parametrize(
    "change",
    [
        lambda stream: base(stream.map(lambda value: value)),
        lambda stream: base(stream.filter(bool).map(str).flat_map(list)),
        lambda stream: counts(stream).map(str).sink_to(CollectSink()).name("out"),
    ],
)
def test_inserting_an_operator_into_a_chain_renames_no_other(change: Callable[[DataStream], Any]) -> None:
    before, after = uids(base), uids(change)
    assert {name: after[name] for name in before} == before


def test_a_new_branch_renames_nothing() -> None:
    def with_branch(stream: DataStream) -> None:
        stream.map(str).key_by(len).reduce(lambda left, right: left).sink_to(CollectSink()).name("branch")
        base(stream)
        stream.key_by(0).time_window(Time.seconds(5)).sum(1).sink_to(CollectSink()).name("later branch")

    before, after = uids(base), uids(with_branch)
    assert {name: after[name] for name in ("clicks", "counts")} == {name: before[name] for name in ("clicks", "counts")}


def test_a_new_source_behind_the_others_renames_nothing() -> None:
    def with_source(stream: DataStream) -> None:
        base(stream)
        other = stream.get_execution_environment().add_source(ManualSource(1), "orders")
        counts(other).name("other counts").print()

    before, after = uids(base), uids(with_source)
    assert {name: after[name] for name in before} == before


def test_operators_behind_other_operators_are_other_operators() -> None:
    def twice(stream: DataStream) -> None:
        counts(counts(stream).name("first")).name("second").print()

    found = uids(twice)
    assert found["first"] == uids(base)["counts"]
    assert found["second"] != found["first"]


def test_operators_that_are_alike_are_numbered() -> None:
    def alike(stream: DataStream) -> None:
        counts(stream).name("one").print()
        counts(stream).name("two").print()

    found = uids(alike)
    assert found["two"] == found["one"] + "-2"


def test_a_given_uid_stays_and_gives_those_behind_it_theirs() -> None:
    def given(stream: DataStream) -> None:
        counts(counts(stream).name("first").uid("mine")).name("second").print()

    def changed(stream: DataStream) -> None:
        counts(stream.key_by(0).reduce(max).name("first").uid("mine")).name("second").print()

    assert uids(given)["first"] == "mine"
    assert uids(given)["second"] == uids(changed)["second"]


def test_a_uid_that_is_given_twice_is_refused() -> None:
    env = environment()
    stream = env.from_collection([1]).uid("a")
    with pytest.raises(InvalidValueError, match="the uid 'a' is used twice"):
        stream.map(str).uid("a")


def test_a_given_uid_that_meets_a_derived_one_is_refused() -> None:
    def clash(stream: DataStream) -> None:
        counts(stream.map(str).uid(uids(base)["counts"])).print()

    with pytest.raises(InvalidValueError, match=r"the uid .* is used twice; give each operator its own with uid"):
        uids(clash)


# Names


class Upper(MapFunction):
    def map(self, value: Any) -> Any:
        return value.upper()


def shout(value: Any) -> Any:
    return value + "!"


def test_operators_are_named_by_what_they_do_and_by_their_function() -> None:
    env = environment()
    stream = env.from_collection(["a"])
    stream.map(Upper()).map(shout).map(lambda value: value).map(str.strip).name("mine").print()
    graph = env._graph()
    assert [graph.name(node) for node in graph.nodes] == [
        "collection",
        "map Upper",
        "map shout",
        "map",
        "mine",
        "print",
    ]


# Parallelism


def test_operators_with_subtasks_of_their_own_have_the_parallelism_of_the_job_unless_told_otherwise() -> None:
    env = environment()
    stream = env.from_collection([("a", 1)])
    stream.key_by(0).sum(1).name("of the job").key_by(0).sum(1).name("own").set_parallelism(5).print()
    stream.count_window_all(2).sum(1).name("all").print()
    graph = env._graph()
    given = {graph.name(node): graph.given_parallelism.get(node.number) for node in graph.nodes}
    assert (given["of the job"], given["own"], given["all"]) == (None, 5, 1)
    assert graph.default_parallelism == 2


# Functions must travel


class Holding(MapFunction):
    def __init__(self, held: Any) -> None:
        self.held = held

    def map(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    "build",
    [
        lambda stream, lock: stream.map(Holding(lock)),
        lambda stream, lock: stream.map(lambda value: lock),
        lambda stream, lock: stream.key_by(lambda value: lock).reduce(max),
    ],
)
def test_a_function_that_cannot_be_pickled_is_refused_by_the_name_of_its_operator(build: Any) -> None:
    env = environment()
    build(env.from_collection([1]), threading.Lock()).name("enrich").print()
    with pytest.raises(
        InvalidTypeError,
        match=r"enrich: its function cannot be sent to a worker \(TypeError: .*lock.*make them in open\(\)",
    ) as caught:
        env.execute()
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_program_without_a_sink_is_refused() -> None:
    env = environment()
    env.from_collection([1]).map(str)
    with pytest.raises(InvalidValueError, match=r"the program has no sink, so nothing would run; end a stream"):
        env.execute()
