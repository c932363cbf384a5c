"""Which of Tidegate's classes is compared with which of Flink's, and how."""

from __future__ import annotations

from typing import Final

from tests.oracle import (
    assigners,
    async_queues,
    channels,
    evictors,
    explanations,
    generators,
    merging,
    timers,
    triggers,
)
from tests.oracle.comparison import Check

CHECKS: Final = (
    Check("StatusWatermarkValve, rules flink-2.3", "valve", channels.valve("flink-2.3")),
    Check("... saved and restored at every step", "valve", channels.valve("flink-2.3", cuts=True)),
    Check("... with the corrected rules", "valve", channels.valve("fixed"), explain=explanations.of_valve),
    Check("CombinedWatermark, rules flink-2.3", "combine", channels.combination("flink-2.3")),
    Check("... saved and restored at every step", "combine", channels.combination("flink-2.3", cuts=True)),
    Check(
        "... with the corrected rules",
        "combine",
        channels.combination("fixed"),
        explain=explanations.of_ended,
    ),
    Check(
        "CombinedWatermark as WatermarkOutputMultiplexer",
        "multiplexer",
        channels.combination("flink-2.3"),
        canonical=explanations.without_waking,
    ),
    Check(
        "... with the announcements of active",
        "multiplexer",
        channels.combination("flink-2.3"),
        explain=explanations.of_waking,
    ),
    Check(
        "watermark generators, idleness",
        "generator",
        generators.Generator,
        canonical=explanations.without_waking,
        explain=explanations.of_idle_generator,
    ),
    Check(
        "... by the highest timestamp of a column",
        "generator",
        generators.HighestGenerator,
        canonical=explanations.without_waking,
        explain=explanations.of_idle_generator,
    ),
    Check(
        "... with the announcements of active",
        "generator",
        generators.Generator,
        explain=explanations.of_idle_generator,
    ),
    Check(
        "... saved and restored at every step",
        "generator",
        generators.cut_generator,
        canonical=explanations.without_waking,
        explain=explanations.of_idle_generator,
    ),
    Check("AlignmentGroup", "alignment", channels.Alignment),
    Check("TimerService", "timers", timers.Timers, canonical=timers.without_order_of_ties),
    Check(
        "... saved and restored at every step",
        "timers",
        timers.cut_timers,
        canonical=timers.without_order_of_ties,
    ),
    Check("window assigners", "assigner", assigners.Assigner, explain=explanations.of_assigner),
    Check("TimeWindow.merge_windows", "merge", merging.Merge),
    Check("MergingWindowSet, sessions", "merging_set", merging.sessions, explain=explanations.of_merging_set),
    Check(
        "... of an assigner of a user's own",
        "merging_set",
        merging.users_sessions,
        explain=explanations.of_merging_set,
    ),
    Check("triggers", "trigger", triggers.Triggered, explain=explanations.of_trigger),
    Check("evictors", "evictor", evictors.Evicting),
    Check("asynchronous queues", "async_queue", async_queues.Queue),
    Check("AsyncRetryStrategy", "retry", async_queues.Retry, explain=explanations.of_retry),
)
