from __future__ import annotations

from typing import Any

import pytest

from tidegate.core.function.identity import IdentitySpec
from tidegate.core.function.stateless import MapSpec
from tidegate.core.operator.sink import SinkSpec
from tidegate.core.watermark.assign_watermarks import AssignWatermarksSpec
from tidegate.core.watermark.strategy import WatermarkStrategy
from tidegate.datastream.sinks import CollectSink
from tidegate.datastream.sources import CollectionSource
from tidegate.errors import InvalidValueError
from tidegate.graph.builder import ProgramBuilder
from tidegate.graph.nodes import (
    ChainNode,
    Input,
    KeyBy,
    Rebalance,
    SourceNode,
    TaskNode,
    ancestors,
    may_have_timestamps,
)

SINK = SinkSpec(CollectSink())


@pytest.fixture
def program() -> ProgramBuilder:
    return ProgramBuilder()


def test_nodes_are_numbered_in_the_order_of_the_program(program: ProgramBuilder) -> None:
    source = program.source(CollectionSource([1]), "collection")
    mapped = program.chain("map", MapSpec(str), [source])
    task = program.task("rebalance", IdentitySpec(), [Input((mapped,), Rebalance())])
    assert [stream.node.number for stream in (source, mapped, task)] == [0, 1, 2]
    assert isinstance(source.node, SourceNode)
    assert isinstance(mapped.node, ChainNode)
    assert isinstance(task.node, TaskNode)
    assert (source.node.upstream, mapped.node.upstream, task.node.upstream) == ((), (source,), (mapped,))


def test_only_what_leads_to_an_end_is_part_of_the_graph(program: ProgramBuilder) -> None:
    source = program.source(CollectionSource([1]), "collection")
    unused = program.chain("map", MapSpec(str), [source])
    used = program.chain("map", MapSpec(str), [source])
    has_ends = [program.has_ends]
    program.end(program.chain("sink", SINK, [used]).node)
    has_ends.append(program.has_ends)
    assert has_ends == [False, True]
    numbers = [node.number for node in program.build(1).nodes]
    assert numbers == [0, 2, 3]
    assert unused.node.number not in numbers


def test_ends_can_be_forgotten(program: ProgramBuilder) -> None:
    source = program.source(CollectionSource([1]), "collection")
    first, second = (program.chain("sink", SINK, [source]).node for _ in range(2))
    program.end(first)
    program.end(second)
    program.forget_end(first)
    assert [node.number for node in program.build(1).nodes] == [0, 2]
    program.forget_ends()
    with pytest.raises(InvalidValueError, match=r"the program has no sink, so nothing would run; end a stream"):
        program.build(1)


def test_ancestors_are_found_once(program: ProgramBuilder) -> None:
    source = program.source(CollectionSource([1]), "collection")
    left, right = (program.chain("map", MapSpec(str), [source]) for _ in range(2))
    united = program.chain("map", MapSpec(str), [left, right])
    assert sorted(node.number for node in ancestors((united,))) == [0, 1, 2, 3]


def test_timestamps_come_from_a_source_an_assigner_or_a_window_upstream(program: ProgramBuilder) -> None:
    plain = program.source(CollectionSource([1]), "collection")
    stamping = program.source(CollectionSource([1]), "source", may_have_timestamps=True)
    assigned = program.chain(
        "assign_timestamps_and_watermarks", AssignWatermarksSpec(WatermarkStrategy.no_watermarks()), [plain]
    )
    by_key = Input((plain,), KeyBy(str))
    task = program.task("process", IdentitySpec(), [by_key])
    window = program.task("window", IdentitySpec(), [by_key], gives_timestamps=True)
    found = [may_have_timestamps(stream) for stream in (plain, stamping, assigned, task, window)]
    assert found == [False, True, True, False, True]
    behind = [program.chain("map", MapSpec(str), [stream]) for stream in (plain, assigned)]
    assert [may_have_timestamps(stream) for stream in behind] == [False, True]


def test_labels_name_nodes(program: ProgramBuilder) -> None:
    source = program.source(CollectionSource([1]), "collection")
    task = program.task("rebalance", IdentitySpec(), [Input((source,), Rebalance())])
    program.end(program.chain("sink", SINK, [task]).node)
    assert program.name_of(task.node) == "rebalance"
    program.label(task.node, name="spread", parallelism=3)
    program.label(task.node, uid="spread-1", description="evenly")
    graph = program.build(2)
    assert program.name_of(task.node) == graph.name(task.node) == "spread"
    assert graph.uid(task.node) == "spread-1"
    assert graph.parallelism[task.node.number] == 3


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


def test_a_uid_is_used_once(program: ProgramBuilder) -> None:
    source = program.source(CollectionSource([1]), "collection")
    other = program.chain("map", MapSpec(str), [source])
    program.label(source.node, uid="x")
    program.label(source.node, uid="x")
    with pytest.raises(InvalidValueError, match="the uid 'x' is used twice; give each operator its own"):
        program.label(other.node, uid="x")
