"""What is refused of columns before a program runs, because their types are known."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate import agg
from tidegate.common import Types, WatermarkStrategy
from tidegate.datastream import DataStream, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.errors import InvalidValueError


@pytest.fixture
def rows(tmp_path: Any) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    source = FileSource.json_lines(str(tmp_path), "user string, ts long, amount double, is_new boolean")
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")


@pytest.mark.parametrize("column", ["user", "is_new"])
def test_a_column_that_holds_no_times_gives_no_timestamps(rows: DataStream, column: str) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column(column)
    with pytest.raises(InvalidValueError, match=rf"the column '{column}' is a .*; it must be a timestamp, or a whole"):
        rows.assign_timestamps_and_watermarks(strategy)


@pytest.mark.parametrize("aggregate", [agg.sum("user"), agg.mean("user"), agg.stddev("is_new")], ids=str)
def test_a_column_that_holds_no_numbers_is_not_added_up(rows: DataStream, aggregate: Any) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts")
    windows = (
        rows.assign_timestamps_and_watermarks(strategy).key_by("user").window(TumblingEventTimeWindows.of("1 minute"))
    )
    with pytest.raises(InvalidValueError, match=r"agg\(x=\.\.\.\): .* needs numbers, and the column '\w+' is a"):
        windows.agg(x=aggregate)
    assert windows.agg(x=agg.max("user"), y=agg.sum("amount")).get_type() != Types.STRING()
