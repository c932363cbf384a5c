"""The plan, and how it is told to people."""

from __future__ import annotations

import json
import textwrap

import pytest

from tidegate import agg
from tidegate.common import Time, WatermarkStrategy
from tidegate.core.state.descriptors import MapStateDescriptor
from tidegate.datastream import (
    CollectSink,
    KeyedBroadcastProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
)
from tidegate.graph import describe
from tidegate.graph.plan import Plan
from tidegate.testing import ManualSource

LATE = OutputTag("late")
RULES = MapStateDescriptor("rules")


class Flag(KeyedBroadcastProcessFunction):
    def process_element(self, value: object, ctx: object) -> None:
        return None

    def process_broadcast_element(self, value: object, ctx: object) -> None:
        return None


@pytest.fixture
def plan() -> Plan:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=2)
    clicks = env.add_source(ManualSource(1), "clicks").uid("clicks")
    rules = env.add_source(ManualSource(1), 'the "rules"').uid("rules").broadcast(RULES)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stamped = clicks.assign_timestamps_and_watermarks(strategy).name("stamp").uid("stamp")
    counts = (
        stamped.key_by("user")
        .window(TumblingEventTimeWindows.of(Time.seconds(60)))
        .side_output_late_data(LATE)
        .agg(clicks=agg.count())
        .name("counts")
        .uid("counts")
    )
    counts.get_side_output(LATE).sink_to(CollectSink()).name("late").uid("late")
    flagged = counts.key_by(lambda row: row["user"]).connect(rules).process(Flag()).name("flag").uid("flag")
    spread = flagged.rebalance().set_parallelism(3).name("spread").uid("spread")
    placed = flagged.partition_custom(lambda key, count: 0, lambda value: value).name("placed").uid("placed")
    spread.union(placed, flagged.forward().uid("forward")).sink_to(CollectSink()).name("out").uid("out")
    return env.get_plan()


def test_a_task_is_one_stage_behind_the_last_that_feeds_it(plan: Plan) -> None:
    stages = {plan.graph.uid(node): plan.stage_of[node.number] for node in plan.graph.nodes}
    assert stages == {
        "clicks": 0,
        "rules": 0,
        "stamp": 0,
        "counts": 1,
        "late": 1,
        "flag": 2,
        "spread": 3,
        "placed": 3,
        "forward": 3,
        "out": 3,
    }


def test_a_plan_as_text(plan: Plan) -> None:
    expected = """\
        stage 0 (sources)
          clicks  [clicks]
          the "rules"  [rules]
          stamp  [stamp]
            <- clicks
        stage 1 (parallelism 2)
          counts  [counts]
            <- stamp by key user
          late  [late]
            <- counts side output 'late'
        stage 2 (parallelism 2)
          flag  [flag]
            <- counts by key
            <- the "rules" by broadcast
        stage 3 (parallelism 2, 3)
          spread  [spread]
            <- flag by rebalance
          placed  [placed]
            <- flag by custom partitioner
          forward  [forward]
            <- flag by forward
          out  [out]
            <- spread
            <- placed
            <- forward"""
    assert describe.as_text(plan) == textwrap.dedent(expected)


def test_a_plan_as_json(plan: Plan) -> None:
    data = json.loads(describe.as_json(plan))
    assert data == describe.as_data(plan)
    assert [stage["stage"] for stage in data["stages"]] == [0, 1, 2, 3]
    assert data["stages"][1]["operators"] == [
        {
            "uid": "counts",
            "name": "counts",
            "kind": "window agg",
            "parallelism": 2,
            "inputs": [{"uid": "stamp", "side": None, "by": "key user"}],
        },
        {
            "uid": "late",
            "name": "late",
            "kind": "sink",
            "parallelism": None,
            "inputs": [{"uid": "counts", "side": "late", "by": ""}],
        },
    ]


def test_a_plan_as_mermaid(plan: Plan) -> None:
    expected = """\
        flowchart LR
          subgraph stage0["stage 0"]
            n0["clicks"]
            n1["the 'rules'"]
            n2["stamp"]
          end
          subgraph stage1["stage 1"]
            n3["counts"]
            n4["late"]
          end
          subgraph stage2["stage 2"]
            n5["flag"]
          end
          subgraph stage3["stage 3"]
            n6["spread"]
            n7["placed"]
            n8["forward"]
            n9["out"]
          end
          n0 --> n2
          n2 -- "key user" --> n3
          n3 -- "side late" --> n4
          n3 -- "key" --> n5
          n1 -- "broadcast" --> n5
          n5 -- "rebalance" --> n6
          n5 -- "custom partitioner" --> n7
          n5 -- "forward" --> n8
          n6 --> n9
          n7 --> n9
          n8 --> n9"""
    assert describe.as_mermaid(plan) == textwrap.dedent(expected)


def test_the_environment_tells_its_plan() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    env.from_collection([("a", 1)]).uid("in").key_by(0).sum(1).uid("sum").print().uid("out")
    assert env.explain() == textwrap.dedent(
        """\
        stage 0 (sources)
          collection  [in]
        stage 1 (parallelism 1)
          sum  [sum]
            <- collection by key 0
          print  [out]
            <- sum"""
    )
    assert json.loads(env.get_execution_plan())["stages"][1]["operators"][1]["uid"] == "out"
