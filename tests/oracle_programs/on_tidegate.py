"""Runs programs on Tidegate, in this process or on Spark."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.oracle_programs.program import Program, for_tidegate
from tests.oracle_programs.running import Outputs, run_together
from tests.oracle_programs.tidegate_side import explicit_watermarks

from tidegate.common import Types
from tidegate.datastream import StreamExecutionEnvironment


def run_locally(program: Program, parallelism: int = 1) -> Outputs:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=parallelism)
    return _run(env, [program])[0]


def run_on_spark(spark: Any, programs: Sequence[Program], parallelism: int = 2) -> list[Outputs]:
    """The programs as one query."""
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=parallelism)
    return _run(env, programs)


def _run(env: StreamExecutionEnvironment, programs: Sequence[Program]) -> list[Outputs]:
    with _seam():
        return run_together(env, [for_tidegate(program.parts) for program in programs], Types.STRING())


@contextmanager
def _seam() -> Iterator[None]:
    """Programs find our `explicit_watermarks`, and what they leave open is no warning."""
    sys.modules["explicit_watermarks"] = explicit_watermarks
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        del sys.modules["explicit_watermarks"]
