"""How a job runs, whatever runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.core.time.millis import Clock, TimeCharacteristic
from tidegate.engine.clocks import wall_clock
from tidegate.engine.lowering import PlanOptions


@dataclass(frozen=True, slots=True)
class JobOptions:
    """What the environment says about a job; times in milliseconds."""

    clock: Clock = wall_clock
    auto_watermark_interval: int = 200
    time_characteristic: TimeCharacteristic = TimeCharacteristic.EventTime
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    max_parallelism: int | None = None

    def plan_options(self, *, has_workers: bool) -> PlanOptions:
        """Workers read sources as columns, and get micro-batches; in process there are neither."""
        return PlanOptions(
            self.auto_watermark_interval,
            self.job_parameters,
            self.max_parallelism,
            reads_columns=has_workers,
            has_micro_batches=has_workers,
        )


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """How a job runs on Spark."""

    spark: Any = None
    checkpoint: str | None = None
    trigger: str = "0 seconds"
    job: JobOptions = field(default_factory=JobOptions)
