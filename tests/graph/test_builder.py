from __future__ import annotations

from typing import Any

import pytest

from tidegate.core.function.stateless import MapSpec
from tidegate.core.operator.sink import SinkSpec
from tidegate.core.watermark.assign_watermarks import AssignWatermarksSpec
from tidegate.core.watermark.strategy import WatermarkStrategy
from tidegate.datastream.sinks import CollectSink
from tidegate.datastream.sources import CollectionSource
from tidegate.errors import InvalidValueError
from tidegate.graph.builder import ProgramBuilder
from tidegate.graph.nodes import (
    Connection,
    Input,
    KeyBy,
    OperatorNode,
    Partitioning,
    Rebalance,
    SinkNode,
    SourceNode,
    Stream,
    ancestors,
    may_have_timestamps,
)

SINK = SinkSpec(CollectSink())
MAP = MapSpec(str)


def read(*streams: Stream, by: Partitioning | None = None) -> Input:
    return Input(tuple(Connection(stream) if by is None else Connection(stream, by) for stream in streams))


@pytest.fixture
def program() -> ProgramBuilder:
    return ProgramBuilder()


def test_nodes_are_numbered_in_the_order_of_the_program(program: ProgramBuilder) -> None:
    source = program.source(CollectionSource([1]), "collection")
    mapped = program.operator("map", MAP, [read(source)])
    task = program.operator("map", MAP, [read(mapped, by=Rebalance())])
    assert [stream.node.number for stream in (source, mapped, task)] == [0, 1, 2]
    assert isinstance(source.node, SourceNode)
    assert isinstance(mapped.node, OperatorNode)
    assert isinstance(task.node, OperatorNode)
    assert (mapped.node.may_be_chained, task.node.may_be_chained) == (True, False)
    assert (source.node.upstream, mapped.node.upstream, task.node.upstream) == ((), (source,), (mapped,))


def test_only_what_leads_to_an_end_is_part_of_the_graph(program: ProgramBuilder) -> None:
    source = program.source(CollectionSource([1]), "collection")
    unused = program.operator("map", MAP, [read(source)])
    used = program.operator("map", MAP, [read(source)])
    has_ends = [program.has_ends]
    assert isinstance(program.sink("sink", SINK, [Connection(used)]), SinkNode)
    has_ends.append(program.has_ends)
    assert has_ends == [False, True]
    numbers = [node.number for node in program.build(1).nodes]
    assert numbers == [0, 2, 3]
    assert unused.node.number not in numbers


def test_ends_can_be_forgotten(program: ProgramBuilder) -> None:
    source = program.source(CollectionSource([1]), "collection")
    first, _ = (program.sink("sink", SINK, [Connection(source)]) for _ in range(2))
    program.forget_end(first)
    assert [node.number for node in program.build(1).nodes] == [0, 2]
    program.forget_ends()
    with pytest.raises(InvalidValueError, match=r"the program has no sink, so nothing would run; end a stream"):
        program.build(1)


def test_ancestors_are_found_once(program: ProgramBuilder) -> None:
    source = program.source(CollectionSource([1]), "collection")
    left, right = (program.operator("map", MAP, [read(source)]) for _ in range(2))
    united = program.operator("map", MAP, [read(left, right)])
    assert sorted(node.number for node in ancestors((united,))) == [0, 1, 2, 3]


def test_timestamps_come_from_a_source_an_assigner_or_a_window_upstream(program: ProgramBuilder) -> None:
    plain = program.source(CollectionSource([1]), "collection")
    stamping = program.source(CollectionSource([1]), "source", may_have_timestamps=True)
    assign = AssignWatermarksSpec(WatermarkStrategy.no_watermarks())
    assigned = program.operator("assign_timestamps_and_watermarks", assign, [read(plain)], gives_timestamps=True)
    by_key = read(plain, by=KeyBy(str))
    task = program.operator("process", MAP, [by_key])
    window = program.operator("window", MAP, [by_key], gives_timestamps=True)
    found = [may_have_timestamps(stream) for stream in (plain, stamping, assigned, task, window)]
    assert found == [False, True, True, False, True]
    behind = [program.operator("map", MAP, [read(stream)]) for stream in (plain, assigned)]
    assert [may_have_timestamps(stream) for stream in behind] == [False, True]


def test_labels_name_nodes(program: ProgramBuilder) -> None:
    source = program.source(CollectionSource([1]), "collection")
    task = program.operator("map", MAP, [read(source, by=Rebalance())])
    program.sink("sink", SINK, [Connection(task)])
    assert program.name_of(task.node) == "map"
    program.label(task.node, name="spread", parallelism=3)
    program.label(task.node, uid="spread-1", description="evenly")
    graph = program.build(2)
    assert program.name_of(task.node) == graph.name(task.node) == "spread"
    assert graph.uid(task.node) == "spread-1"
    assert graph.given_parallelism[task.node.number] == 3


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ({"name": ""}, r"name\(...\) takes a text that is not empty, got ''"),
        ({"uid": 5}, r"uid\(...\) takes a text that is not empty, got 5"),
        ({"uid": None}, r"uid\(...\) takes a text that is not empty, got None"),
        ({"parallelism": 0}, "set_parallelism takes an integer of 1 or more, got 0"),
        ({"parallelism": True}, "set_parallelism takes an integer of 1 or more, got True"),
    ],
)
def test_labels_that_cannot_be_are_refused(program: ProgramBuilder, label: dict[str, Any], message: str) -> None:
    source = program.source(CollectionSource([1]), "collection")
    with pytest.raises(InvalidValueError, match=message):
        program.label(source.node, **label)


def test_a_source_that_is_not_parallel_has_one_instance(program: ProgramBuilder) -> None:
    source = program.source(CollectionSource([1]), "collection")
    program.label(source.node, parallelism=1)
    with pytest.raises(InvalidValueError, match=r"set_parallelism\(3\): this source is not parallel, it has one"):
        program.label(source.node, parallelism=3)


def test_an_operator_over_the_whole_stream_has_one_subtask(program: ProgramBuilder) -> None:
    source = program.source(CollectionSource([1]), "collection")
    window = program.operator("window", MAP, [read(source, by=KeyBy(str))], parallelism=1)
    with pytest.raises(InvalidValueError, match=r"set_parallelism\(2\): window over the whole stream runs in one"):
        program.label(window.node, parallelism=2)


def test_streams_without_an_end_have_a_graph_to_look_at(program: ProgramBuilder) -> None:
    source = program.source(CollectionSource([1]), "collection")
    program.operator("map", MAP, [read(source)])
    assert [node.number for node in program.build_unfinished(1).nodes] == [0, 1]
    program.sink("sink", SINK, [Connection(source)])
    assert [node.number for node in program.build_unfinished(1).nodes] == [0, 2]


def test_a_uid_is_used_once(program: ProgramBuilder) -> None:
    source = program.source(CollectionSource([1]), "collection")
    other = program.operator("map", MAP, [read(source)])
    program.label(source.node, uid="x")
    program.label(source.node, uid="x")
    with pytest.raises(InvalidValueError, match="the uid 'x' is used twice; give each operator its own"):
        program.label(other.node, uid="x")
