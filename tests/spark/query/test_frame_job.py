"""Queries that a user starts on a DataFrame of ours: what they need of the session and of the checkpoint."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F  # noqa: N812
from tests.spark.test_dataframes import BASE, at, collect, stream

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.datastream import StreamExecutionEnvironment
from tidegate.datastream.functions import SourceFunction
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.errors import InvalidValueError, SnapshotError

pytestmark = pytest.mark.spark

SCHEMA = "user string, ts timestamp, amount int"
USERS = "abcdefgh"
AN_HOUR_AND_MORE = [(user, at(3_600 * hour + 1), 1) for hour in range(2) for user in USERS]
NEW_YORK = "America/New_York"


@pytest.fixture
def settings(spark: Any) -> Iterator[Any]:
    """The session, whose settings are put back."""
    before = dict(spark.conf.getAll)
    yield spark.conf
    for name in dict(spark.conf.getAll).keys() - before.keys():
        spark.conf.unset(name)
    for name, value in before.items():
        if spark.conf.isModifiable(name):
            spark.conf.set(name, value)


def environment(spark: Any, parallelism: int = 2, checkpoint: Path | None = None) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(
        spark, parallelism=parallelism, checkpoint=None if checkpoint is None else str(checkpoint)
    )


def sums(env: StreamExecutionEnvironment, frame: Any, *, size: str = "1 hour") -> Any:
    return (
        env.from_dataframe(frame)
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts"),
        )
        .key_by("user")
        .window(TumblingEventTimeWindows.of(size))
        .agg(total=agg.sum("amount"))
    )


def run(frame: Any, **options: str) -> list[Any]:
    """Run a query on a frame to the end of what is there."""
    rows: list[Any] = []
    writer = frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
    writer.options(**options).trigger(availableNow=True).start().awaitTermination()
    return rows


def test_another_parallelism_is_refused_by_what_the_query_itself_keeps(spark: Any, tmp_path: Path) -> None:
    frame = stream(spark, tmp_path / "in", AN_HOUR_AND_MORE, SCHEMA)
    first = collect(sums(environment(spark), frame).to_dataframe(), tmp_path / "query")
    assert {(row.user, row.total) for row in first} == {(user, 1) for user in USERS}
    more = spark.createDataFrame([(user, at(7_201), 1) for user in USERS], SCHEMA)
    more.coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
    with pytest.raises(Exception, match=r"the parallelism was 2 when this query ran before and is 3 now"):
        collect(sums(environment(spark, 3), frame).to_dataframe(), tmp_path / "query")
    with pytest.raises(Exception, match=r"its window was .*size=3600000.* and is .*size=1800000"):
        collect(sums(environment(spark), frame, size="30 minutes").to_dataframe(), tmp_path / "query")
    again = collect(sums(environment(spark), frame).to_dataframe(), tmp_path / "query")
    assert {(row.user, row.total) for row in again} == {(user, 1) for user in USERS}


def test_results_are_right_under_any_settings_and_settings_stay(spark: Any, tmp_path: Path, settings: Any) -> None:
    frame = stream(spark, tmp_path / "in", AN_HOUR_AND_MORE, SCHEMA)
    settings.set("spark.sql.session.timeZone", NEW_YORK)
    settings.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    settings.set("spark.sql.shuffle.partitions", "5")
    settings.set("spark.sql.caseSensitive", "true")
    settings.unset("spark.sql.streaming.stateStore.providerClass")
    before = dict(settings.getAll)
    out = sums(environment(spark), frame).to_dataframe()
    assert dict(out.dtypes)["window_start"] == "timestamp"
    assert dict(settings.getAll) == before
    hours = out.selectExpr("user", "hour(window_start) as hour", "window_start", "total").where("total > 0")
    rows = collect(hours.na.drop(), tmp_path / "query")
    assert dict(settings.getAll) == before
    start = BASE.astimezone().replace(tzinfo=None)
    assert {(row.user, row.hour, row.window_start, row.total) for row in rows} == {
        (user, 19, start, 1) for user in USERS
    }, "Spark's own functions, in New York"


def test_a_query_of_the_users_own_is_as_it_was(spark: Any, tmp_path: Path, settings: Any) -> None:
    """Its windows are those of its time zone, and its last one fires without data."""
    frame = stream(spark, tmp_path / "in", AN_HOUR_AND_MORE, SCHEMA)
    settings.set("spark.sql.session.timeZone", NEW_YORK)
    settings.set("spark.sql.streaming.noDataMicroBatches.enabled", "true")
    collect(sums(environment(spark), frame).to_dataframe(), tmp_path / "ours")
    counted = frame.withWatermark("ts", "1 second").groupBy(F.window("ts", "1 hour")).count()
    rows = collect(counted.selectExpr("hour(window.start) as hour", "count"), tmp_path / "own")
    assert (19, len(USERS)) in {(row.hour, row["count"]) for row in rows}


def test_everything_is_in_one_folder_and_nowhere_else(spark: Any, tmp_path: Path) -> None:
    frame = stream(spark, tmp_path / "in", AN_HOUR_AND_MORE, SCHEMA)
    kept = tmp_path / "kept"
    out = sums(environment(spark), frame).to_dataframe(checkpoint=str(kept))
    elsewhere = str(tmp_path / "elsewhere")
    ways: list[Callable[[], Any]] = [
        lambda: out.writeStream.option("checkpointLocation", elsewhere),
        lambda: out.select("user").writeStream.options(CheckpointLocation=elsewhere),
        lambda: out.groupBy("user").count().writeStream.format("noop").start(checkpointlocation=elsewhere),
    ]
    for give in ways:
        with pytest.raises(InvalidValueError, match=r"keeps its checkpoint in .*/kept/query.*leave the option out"):
            give()
    other = spark.createDataFrame([(user,) for user in USERS], "user string")
    with pytest.raises(Exception, match=r"nobody owns the checkpoint .*begin with that DataFrame, as in frame\.join"):
        collect(other.join(out, "user"), tmp_path / "elsewhere")
    assert len(run(out.join(other, "user"))) == len(USERS)
    assert (kept / "query" / "offsets").is_dir()
    assert run(out) == []
    with pytest.raises(SnapshotError, match=r"was written with parallelism 2, the job has 3"):
        sums(environment(spark, 3), frame).to_dataframe(checkpoint=str(kept))
    with pytest.raises(InvalidValueError, match=r"but the environment has '.*a'; name one of them"):
        sums(environment(spark, checkpoint=tmp_path / "a"), frame).to_dataframe(checkpoint=str(kept))


def test_what_needs_a_folder_is_refused_without_one_by_name(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=r"the source 'collection' .*to_dataframe\(checkpoint=DIR\)"):
        environment(spark).from_collection([1]).map(lambda n: n, output_type="int").to_dataframe()
    frame = stream(spark, tmp_path / "in", AN_HOUR_AND_MORE, SCHEMA)
    idle = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts").with_idleness("1 second")
    stamped = environment(spark).from_dataframe(frame).assign_timestamps_and_watermarks(idle)
    with pytest.raises(InvalidValueError, match=r"waits for the clock .*to_dataframe\(checkpoint=DIR\)"):
        stamped.key_by("user").window(TumblingEventTimeWindows.of("1 hour")).agg(n=agg.count()).to_dataframe()


class Failing(SourceFunction):
    def run(self, ctx: Any) -> None:
        ctx.collect(1)
        raise RuntimeError("the gate is stuck")

    def cancel(self) -> None:
        pass


def test_a_query_has_one_owner_is_fed_and_fails_of_what_feeds_it(spark: Any, tmp_path: Path) -> None:
    def numbers(folder: Path) -> Any:
        return (
            environment(spark)
            .from_collection([1, 2, 3])
            .map(lambda n: n, output_type="int")
            .to_dataframe(checkpoint=str(folder))
        )

    rows: list[Any] = []
    first, second = numbers(tmp_path / "one"), numbers(tmp_path / "one")
    query = first.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect())).start()
    try:
        with pytest.raises(SnapshotError, match=r"belongs to process \d+ on .*which is running"):
            second.writeStream.format("noop").start()
        deadline = datetime.datetime.now() + datetime.timedelta(minutes=1)
        while len(rows) < 3 and datetime.datetime.now() < deadline:
            query.processAllAvailable()
    finally:
        query.stop()
    assert sorted(row.value for row in rows) == [1, 2, 3]
    # A query that ends with what is there has all that the driver reads.
    assert sorted(row.value for row in run(numbers(tmp_path / "three"))) == [1, 2, 3]
    failing = environment(spark).add_source(Failing()).map(lambda n: n, output_type="int")
    query = failing.to_dataframe(checkpoint=str(tmp_path / "two")).writeStream.format("noop").start()
    with pytest.raises(Exception, match=r"a source that the driver reads failed: .*the gate is stuck"):
        query.awaitTermination(60)
