"""Elements with the watermarks that follow them, on Tidegate: a generator in Python."""

from __future__ import annotations

from typing import Any

from tidegate.common import WatermarkStrategy
from tidegate.common.watermark_strategy import Watermark, WatermarkGenerator, WatermarkOutput
from tidegate.datastream import DataStream, StreamExecutionEnvironment


class FromElement(WatermarkGenerator):
    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        if event[1] is not None:
            output.emit_watermark(Watermark(event[1]))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def stream_of(env: StreamExecutionEnvironment, elements: list[tuple[Any, ...]]) -> DataStream:
    """A stream of (key, id, number) from (timestamp, watermark or None, key, id, number)."""
    strategy = WatermarkStrategy.for_generator(FromElement).with_timestamp_assigner(lambda element, _: element[0])
    return (
        env.from_collection(elements).assign_timestamps_and_watermarks(strategy).map(lambda it: (it[2], it[3], it[4]))
    )
