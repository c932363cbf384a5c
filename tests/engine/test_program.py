"""What a checkpoint lets a changed program do; no JVM."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tidegate.common import Time, WatermarkStrategy
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.engine.lowering import lower
from tidegate.engine.program import ProgramRecord, check_program
from tidegate.errors import SnapshotError

STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: pair[1])


def stamped(env: StreamExecutionEnvironment, uid: str) -> Any:
    return env.from_collection([("a", 1)]).uid(uid).assign_timestamps_and_watermarks(STRATEGY).uid(f"stamp {uid}")


def summed(stream: Any, uid: str = "sums") -> Any:
    window = stream.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(Time.seconds(1)))
    return window.reduce(lambda a, b: a).uid(uid)


def record(build: Any, parallelism: int = 2) -> ProgramRecord:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=parallelism)
    for stream in build(env):
        stream.sink_to(CollectSink())
    return ProgramRecord.of(lower(env._graph()))


SAVED = record(lambda env: [summed(stamped(env, "in"))])


def check(build: Any) -> list[str]:
    return check_program(SAVED, record(build), "checkpoint /checkpoint")[1]


def refused(build: Any, message: str) -> None:
    with pytest.raises(SnapshotError, match=message):
        check(build)


def test_a_program_that_did_not_change_goes_on() -> None:
    check(lambda env: [summed(stamped(env, "in"))])


def test_operators_without_state_come_and_go() -> None:
    check(lambda env: [summed(stamped(env, "in").map(lambda pair: pair).filter(bool)).map(str)])


def test_a_second_window_in_the_same_stage_and_a_second_sink_may_be_added() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        stream = stamped(env, "in")
        return [summed(stream), summed(stream, "more sums"), stream]

    check(build)


def test_a_removed_operator_with_state_is_named() -> None:
    refused(
        lambda env: [summed(stamped(env, "in"), "other sums")],
        r"checkpoint /checkpoint holds state of the operator 'window reduce' \(uid 'sums'\), which .*; put it back",
    )


def test_a_removed_source_is_named() -> None:
    refused(lambda env: [summed(stamped(env, "new"))], r"holds state of the operator 'collection' \(uid 'in'\)")


def test_a_new_source_is_named() -> None:
    refused(
        lambda env: [summed(stamped(env, "in")), stamped(env, "new")],
        r"the source 'collection' \(uid 'new'\) is not in checkpoint /checkpoint; a source cannot be added",
    )


def test_another_number_of_stages_names_what_is_new() -> None:
    refused(
        lambda env: [summed(summed(stamped(env, "in")), "sums of sums")],
        r"has 2 stages, the program has 3 \(new: 'sums of sums'\)",
    )


def test_an_operator_that_moves_to_another_stage_is_named() -> None:
    saved = record(lambda env: [summed(summed(stamped(env, "in"), "first"), "second")])
    moved = record(lambda env: [summed(summed(stamped(env, "in"), "second"), "first")])
    with pytest.raises(SnapshotError, match=r"operator .* \(uid 'first'\) .*: it was in stage 1 and is in stage 2 now"):
        check_program(saved, moved, "/checkpoint")


def test_an_operator_of_another_kind_under_the_same_uid_is_named() -> None:
    refused(
        lambda env: [stamped(env, "in").key_by(lambda pair: pair[0]).reduce(lambda a, b: a).uid("sums")],
        r"operator .* \(uid 'sums'\) cannot go on .*: it was a window by keys and is a rolling aggregate now; run it",
    )


def test_the_streams_of_a_union_may_not_change_places() -> None:
    def build(first: str, second: str, *more: str) -> Any:
        def united(env: StreamExecutionEnvironment) -> Any:
            streams = {uid: stamped(env, uid) for uid in ("a", "b", "c")}
            chosen = [streams[uid] for uid in (first, second, *more)]
            return [summed(chosen[0].union(*chosen[1:])), *(s for uid, s in streams.items() if uid not in more)]

        return united

    saved = record(build("a", "b"))
    check_program(saved, record(build("a", "b", "c")), "/checkpoint")
    with pytest.raises(
        SnapshotError, match=r"operator .* \(uid 'sums'\) read from \['a', 'b'\].* reads from \['b', 'a'\] now"
    ):
        check_program(saved, record(build("b", "a")), "/checkpoint")


def test_another_parallelism_is_refused() -> None:
    with pytest.raises(SnapshotError, match="written with parallelism 2, the job has 3"):
        check_program(SAVED, record(lambda env: [summed(stamped(env, "in"))], 3), "/checkpoint")


def test_a_record_survives_as_plain_data() -> None:
    assert ProgramRecord.of_plain(json.loads(json.dumps(SAVED.plain()))) == SAVED
