from __future__ import annotations

from typing import Any

import pytest

from tidegate.spark.state.placement import group_keys, spark_partition


@pytest.mark.parametrize("partitions", [1, 2, 3, 8, 200])
def test_every_partition_gets_exactly_one_subtask(partitions: int) -> None:
    assert [spark_partition(key, partitions) for key in group_keys(partitions)] == list(range(partitions))


@pytest.mark.spark
def test_spark_places_keys_as_we_work_out(spark: Any) -> None:
    keys = [0, 1, 7, 42, 12345, -3, 2**31 - 1]
    frame = spark.createDataFrame([(key,) for key in keys], "gid int")
    placed = {row.gid: row.place for row in frame.selectExpr("gid", "pmod(hash(gid), 5) as place").collect()}
    assert placed == {key: spark_partition(key, 5) for key in keys}
