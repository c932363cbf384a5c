"""`AsyncDataStream`: many requests on their way at once."""

from __future__ import annotations

from typing import Any

from tidegate.core.function.async_io import AsyncSpec, OutputMode
from tidegate.core.function.async_retry import AsyncRetryStrategy
from tidegate.core.time.duration import DurationLike, non_negative_millis
from tidegate.datastream.data_stream import DataStream
from tidegate.errors import InvalidTypeError


class AsyncDataStream:
    """Adds asynchronous requests to a stream. Timeout 0 waits for ever."""

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: Any,
        timeout: DurationLike,
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream:
        """Answers leave in the order of the elements."""
        return _wait(data_stream, async_function, OutputMode.ORDERED, timeout, None, capacity, output_type)

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: Any,
        timeout: DurationLike,
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream:
        """Answers leave as they come, never across a watermark."""
        return _wait(data_stream, async_function, OutputMode.UNORDERED, timeout, None, capacity, output_type)

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: Any,
        timeout: DurationLike,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream:
        retry = async_retry_strategy
        return _wait(data_stream, async_function, OutputMode.ORDERED, timeout, retry, capacity, output_type)

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: Any,
        timeout: DurationLike,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream:
        retry = async_retry_strategy
        return _wait(data_stream, async_function, OutputMode.UNORDERED, timeout, retry, capacity, output_type)


def _wait(
    stream: DataStream,
    function: Any,
    mode: OutputMode,
    timeout: DurationLike,
    retry: AsyncRetryStrategy | None,
    capacity: int,
    output_type: Any,
) -> DataStream:
    if not isinstance(stream, DataStream):
        raise InvalidTypeError(f"AsyncDataStream: expected a DataStream, got {stream!r}")
    millis = non_negative_millis(timeout, "AsyncDataStream: timeout")
    spec = (
        AsyncSpec(function, mode, millis, capacity)
        if retry is None
        else AsyncSpec(function, mode, millis, capacity, retry)
    )
    return stream._chain(f"async {mode.name.lower()}", spec, output_type)
