"""The live table of `tidegate run`."""

from __future__ import annotations

from rich.console import Console

from tidegate.cli.live import ChannelState, LiveTable, live_table, slowest_of, watching
from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows


def test_running_jobs_are_in_the_table_with_what_they_count() -> None:
    table = LiveTable()
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    stamped = env.from_collection([("a", 1), ("a", 12)]).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: pair[1])
    )
    stamped.key_by(0).window(TumblingEventTimeWindows.of("10 ms")).sum(1).sink_to(CollectSink())
    with watching(table):
        env.execute("sums")
    (watched,) = table.jobs
    rows = watched.rows()
    assert ("window sum", "end", "", "fired timers 2") in rows
    assert [row[:2] for row in rows if row[0].startswith("  ")] == [("  0", "end")]
    assert table.__rich__().row_count == 0, "the job is over"


def test_nothing_is_drawn_where_the_output_is_piped() -> None:
    original = StreamExecutionEnvironment._client
    with live_table():
        assert StreamExecutionEnvironment._client is original


def test_table_can_be_drawn() -> None:
    console = Console(width=80, record=True, file=None, quiet=True)
    console.print(LiveTable())


def test_the_channel_that_holds_the_others_back_is_named() -> None:
    channels = [ChannelState("a", 50, False), ChannelState("b", None, True), ChannelState("c", 20, False)]
    assert slowest_of(channels) is channels[2]
    assert slowest_of(channels[:2]) is None


def test_a_channel_that_never_spoke_holds_the_others_back() -> None:
    channels = [ChannelState("a", 50, False), ChannelState("b", None, False)]
    assert slowest_of(channels) is channels[1]
