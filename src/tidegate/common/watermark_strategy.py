"""How a stream gets its timestamps and watermarks: the names of PyFlink, and of Java Flink where PyFlink has none."""

from typing import TYPE_CHECKING

from tidegate._refused import refusing
from tidegate.core.watermark.generators import WatermarkGenerator, WatermarkOutput
from tidegate.core.watermark.legacy_assigners import (
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    BoundedOutOfOrdernessTimestampExtractor,
)
from tidegate.core.watermark.records import Watermark, WatermarkStatus
from tidegate.core.watermark.strategy import WatermarkStrategy
from tidegate.core.watermark.timestamps import TimestampAssigner

__all__ = [
    "AssignerWithPeriodicWatermarks",
    "AssignerWithPunctuatedWatermarks",
    "BoundedOutOfOrdernessTimestampExtractor",
    "TimestampAssigner",
    "Watermark",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStatus",
    "WatermarkStrategy",
]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
