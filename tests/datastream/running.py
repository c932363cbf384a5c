"""Programs on the local runtime, for tests."""

from __future__ import annotations

from typing import Any

from tidegate.common import WatermarkStrategy
from tidegate.datastream import DataStream, StreamExecutionEnvironment

BY_SECOND_FIELD = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[1])


def local(parallelism: int = 1, **options: Any) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=parallelism, **options)


def collect(stream: DataStream) -> list[Any]:
    """Run the program and give the elements of the stream."""
    return list(stream.execute_and_collect())


def stamped(elements: list[Any], parallelism: int = 1) -> DataStream:
    """Elements whose second field is their timestamp."""
    return local(parallelism).from_collection(elements).assign_timestamps_and_watermarks(BY_SECOND_FIELD)
