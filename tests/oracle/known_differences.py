"""A smallest script for every deliberate difference from Flink, with what each side makes of it.

What Flink makes of it is checked by `make oracle-parts`, what Tidegate makes of it by `make test`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.oracle.script import ERROR, Results, Script

from tidegate.core.time.millis import MAX_TIME, MIN_TIME


class Known(NamedTuple):
    """`name` is that of `differences.yaml`; `check` is the name of the check that sees it."""

    name: str
    check: str
    script: Script
    flink: Results
    tidegate: Results


KNOWN: Final = (
    Known(
        "ended-channel",
        "... with the corrected rules",
        {"kind": "valve", "channels": 2, "steps": [["watermark", 0, MAX_TIME], ["idle", 1]]},
        flink=[[], [MAX_TIME]],
        tidegate=[[], ["idle"]],
    ),
    Known(
        "ended-channel",
        "... with the corrected rules",
        {"kind": "combine", "channels": 2, "steps": [["idle", 0], ["watermark", 1, MAX_TIME]]},
        flink=[[], [MAX_TIME]],
        tidegate=[[], ["idle"]],
    ),
    Known(
        "lost-maximum",
        "... with the corrected rules",
        {
            "kind": "valve",
            "channels": 3,
            "steps": [
                ["watermark", 0, 10],
                ["idle", 2],
                ["watermark", 1, 20],
                ["active", 2],
                ["idle", 1],
                ["idle", 0],
                ["idle", 2],
            ],
        },
        flink=[[], [], [10], [], [], [], ["idle"]],
        tidegate=[[], [], [10], [], [], [], [20, "idle"]],
    ),
    Known(
        "stalled-minimum",
        "... with the corrected rules",
        {
            "kind": "valve",
            "channels": 3,
            "steps": [
                ["watermark", 0, 10],
                ["idle", 2],
                ["watermark", 1, 20],
                ["active", 2],
                ["idle", 1],
                ["idle", 0],
                ["active", 1],
            ],
        },
        flink=[[], [], [10], [], [], [], []],
        tidegate=[[], [], [10], [], [], [], [20]],
    ),
    Known(
        "waking-late",
        "... with the announcements of active",
        {"kind": "generator", "strategy": "none", "idleness": 10, "steps": [["tick", 1], ["tick", 11], ["event", 5]]},
        flink=[[], ["idle"], []],
        tidegate=[[], ["idle"], ["active"]],
    ),
    Known(
        "waking-late",
        "... with the announcements of active",
        {"kind": "multiplexer", "channels": 1, "steps": [["idle", 0], ["active", 0]]},
        flink=[["idle"], []],
        tidegate=[["idle"], ["active"]],
    ),
    Known(
        "status-after-end",
        "watermark generators, idleness",
        {"kind": "generator", "strategy": "none", "idleness": 10, "steps": [["tick", 1], ["end"], ["tick", 11]]},
        flink=[[], [MAX_TIME], ["idle"]],
        tidegate=[[], [MAX_TIME], []],
    ),
    Known(
        "paused-probe",
        "watermark generators, idleness",
        {
            "kind": "generator",
            "strategy": "none",
            "idleness": 10,
            "steps": [["pause"], ["tick", 1], ["resume"], ["tick", 11]],
        },
        flink=[[], [], [], ["idle"]],
        tidegate=[[], [], [], []],
    ),
    Known(
        "lowest-timestamp",
        "window assigners",
        {"kind": "assigner", "assigner": "tumbling_event", "size": 10, "steps": [["assign", 0, MIN_TIME, 0]]},
        flink=[ERROR],
        tidegate=[[[MIN_TIME, MIN_TIME + 8]]],
    ),
    Known(
        "wrapped-window",
        "window assigners",
        {"kind": "assigner", "assigner": "session_event", "size": 7, "steps": [["assign", 0, MAX_TIME - 2, 0]]},
        flink=[[[MAX_TIME - 2, MIN_TIME + 4]]],
        tidegate=[[[MAX_TIME - 2, MAX_TIME]]],
    ),
    Known(
        "equal-window",
        "MergingWindowSet, sessions",
        {"kind": "merging_set", "steps": [["add", 1, [2, 3]], ["add", 2, [1, 4]], ["add", 3, [1, 4]]]},
        flink=[
            [[2, 3], [], [1], [[2, 3]]],
            [[1, 4], [[[1, 4], [[2, 3]]]], [1, 2], [[1, 4]]],
            [[1, 4], [], [3], [[1, 4]]],
        ],
        tidegate=[
            [[2, 3], [], [1], [[2, 3]]],
            [[1, 4], [[[1, 4], [[2, 3]]]], [1, 2], [[1, 4]]],
            [[1, 4], [], [1, 2, 3], [[1, 4]]],
        ],
    ),
    Known(
        "timer-left-behind",
        "triggers",
        {
            "kind": "trigger",
            "raw": True,
            "trigger": ["continuous_event", 5],
            "steps": [["element", [0, 20], 1, 3], ["clear", [0, 20]]],
        },
        flink=[[["CONTINUE"], [[5, [0, 20]], [19, [0, 20]]], []], [[None], [[19, [0, 20]]], []]],
        tidegate=[[["CONTINUE"], [[5, [0, 20]], [19, [0, 20]]], []], [[None], [], []]],
    ),
    Known(
        "timer-left-behind",
        "triggers",
        {
            "kind": "trigger",
            "trigger": ["timeout", ["end"], 5, False, True],
            "steps": [["element", None, 1, 0], ["now", 6]],
        },
        flink=[
            [["CONTINUE"], [[MAX_TIME, None]], [[5, None]]],
            [[[5, None, "FIRE"]], [[MAX_TIME, None]], []],
        ],
        tidegate=[
            [["CONTINUE"], [[MAX_TIME, None]], [[5, None]]],
            [[[5, None, "FIRE"]], [], []],
        ],
    ),
    Known(
        "foreign-timer",
        "triggers",
        {"kind": "trigger", "trigger": ["continuous_clock", 5], "steps": [["on_clock", [0, 20], 7]]},
        flink=[ERROR],
        tidegate=[[["CONTINUE"], [], []]],
    ),
    Known(
        "shared-delay",
        "AsyncRetryStrategy",
        {
            "kind": "retry",
            "strategy": "exponential",
            "attempts": 5,
            "delay": 100,
            "limit": 1_000,
            "multiplier": 2.0,
            "steps": [["delay", 1], ["delay", 1], ["delay", 2], ["delay", 2]],
        },
        flink=[100, 100, 200, 400],
        tidegate=[100, 100, 200, 200],
    ),
)
