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
from tidegate.engine import describe
from tidegate.engine.plan import SINKS, PhysicalPlan
from tidegate.testing import ManualSource

LATE = OutputTag("late")
RULES = MapStateDescriptor("rules")


class Flag(KeyedBroadcastProcessFunction):
    def process_element(self, value: object, ctx: object) -> None:
        return None

    def process_broadcast_element(self, value: object, ctx: object) -> None:
        return None


@pytest.fixture
def plan() -> PhysicalPlan:
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
    spread = flagged.map(str).set_parallelism(3).name("spread").uid("spread")
    placed = flagged.partition_custom(lambda key, count: 0, lambda value: value).map(str).name("placed").uid("placed")
    stayed = flagged.forward().map(str).name("stayed").uid("stayed")
    spread.union(placed, stayed).sink_to(CollectSink()).name("out").uid("out")
    return env.get_plan()


def test_a_task_is_one_stage_behind_the_last_that_feeds_it(plan: PhysicalPlan) -> None:
    assert {node.uid: node.stage for node in plan.nodes} == {
        "clicks": 0,
        "rules": 0,
        "stamp": 0,
        "counts": 1,
        "late": SINKS,
        "flag": 2,
        "spread": 3,
        "placed": 3,
        "stayed": 2,
        "out": SINKS,
    }


def test_a_plan_as_text(plan: PhysicalPlan) -> None:
    expected = """\
        stage 0
          clicks  [clicks]  read by the driver, parallelism 1
          the "rules"  [rules]  read by the driver, parallelism 1
          stamp  [stamp]  for each channel, parallelism 1
            <- clicks
        stage 1
          counts  [counts]  element by element, parallelism 2
            <- stamp by key user
        stage 2
          flag  [flag]  element by element, parallelism 2, waits for the clock
            <- counts by key
            <- the "rules" by broadcast
          stayed  [stayed]  for each channel, parallelism 2
            <- flag
        stage 3
          spread  [spread]  element by element, parallelism 3
            <- flag by rebalance
          placed  [placed]  element by element, parallelism 2
            <- flag by custom partitioner
        sinks
          late  [late]  with the driver, parallelism 2
            <- counts side output 'late'
          out  [out]  with the driver, parallelism 3
            <- spread
            <- placed
            <- stayed
        something waits for the clock: there are batches without data"""
    assert describe.as_text(plan) == textwrap.dedent(expected)


def test_a_plan_as_json(plan: PhysicalPlan) -> None:
    data = json.loads(describe.as_json(plan))
    assert data == describe.as_data(plan)
    assert (data["parallelism"], data["needs_clock"]) == (3, True)
    assert [stage["stage"] for stage in data["stages"]] == [0, 1, 2, 3, "sinks"]
    assert data["stages"][1]["operators"] == [
        {
            "uid": "counts",
            "name": "counts",
            "kind": "window agg",
            "runs": "element by element",
            "parallelism": 2,
            "waits_for_clock": False,
            "inputs": [{"uid": "stamp", "side": None, "travels": "by key user"}],
        },
    ]
    assert data["stages"][4]["operators"][0]["inputs"] == [{"uid": "counts", "side": "late", "travels": ""}]


def test_a_plan_as_mermaid(plan: PhysicalPlan) -> None:
    expected = """\
        flowchart LR
          subgraph stage0["stage 0"]
            n0["clicks"]
            n1["the 'rules'"]
            n2["stamp"]
          end
          subgraph stage1["stage 1"]
            n3["counts"]
          end
          subgraph stage2["stage 2"]
            n5["flag"]
            n8["stayed"]
          end
          subgraph stage3["stage 3"]
            n6["spread"]
            n7["placed"]
          end
          subgraph stage4["sinks"]
            n4["late"]
            n9["out"]
          end
          n0 --> n2
          n2 -- "by key user" --> n3
          n3 -- "side late" --> n4
          n3 -- "by key" --> n5
          n1 -- "by broadcast" --> n5
          n5 -- "by rebalance" --> n6
          n5 -- "by custom partitioner" --> n7
          n5 --> n8
          n6 --> n9
          n7 --> n9
          n8 --> n9"""
    assert describe.as_mermaid(plan) == textwrap.dedent(expected)


def test_the_environment_tells_its_plan() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    env.from_collection([("a", 1)]).uid("in").key_by(0).sum(1).uid("sum").print().uid("out")
    assert env.explain() == textwrap.dedent(
        """\
        stage 0
          collection  [in]  read by the driver, parallelism 1
        stage 1
          sum  [sum]  element by element, parallelism 1
            <- collection by key 0
        sinks
          print  [out]  with the driver, parallelism 1
            <- sum"""
    )
    assert json.loads(env.get_execution_plan())["stages"][2]["operators"][0]["uid"] == "out"
