"""Who takes part: how each engine is started, how much it reads, and what was chosen for its throughput."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parents[2]
JOBS = "benchmarks/peers/jobs"
ALL_LEVELS = ("low", "high", "very-high")
TIDEGATE_SETTINGS = "the session of Spark native; parallelism 2"


@dataclass(frozen=True, slots=True)
class Engine:
    """One row of the tables.

    `batches` engines report the time of each micro-batch. The others run twice, over a share of their rows and over all
    of them, and the difference is measured, so that their start drops out. `share` is how much of the rows an engine
    gets that is too slow for all of them, and `slower` the further share for some windows.
    """

    name: str
    title: str
    environment: str
    script: str
    measure: Literal["batches", "difference"]
    settings: str
    mode: str = ""
    format: str = "parquet"
    share: float = 1.0
    slower: dict[str, float] = field(default_factory=dict)
    windows: tuple[str, ...] = ("tumbling", "sliding", "session")
    kinds: tuple[str, ...] = ("windows",)
    reading: str = "Parquet"
    levels: tuple[str, ...] = ("high",)
    """With which numbers of keys it runs by default."""

    @property
    def python(self) -> Path:
        return ROOT / self.environment / "bin" / "python"

    def command(self) -> list[str]:
        if self.environment == ".venv":
            return [str(self.python), "-m", f"benchmarks.peers.jobs.{self.script}"]
        return [str(self.python), f"{JOBS}/{self.script}.py"]


SPARK_SETTINGS = (
    "RocksDB state store, changelog checkpointing, trackTotalNumberOfRows off, 2 shuffle partitions, local[2], "
    "driver memory 6g, a checkpoint for each batch"
)

ENGINES = {
    engine.name: engine
    for engine in (
        Engine(
            "spark",
            "Spark native",
            ".venv",
            "on_spark",
            "batches",
            SPARK_SETTINGS,
            kinds=("windows", "dense", "late", "stored"),
            levels=ALL_LEVELS,
        ),
        Engine(
            "tidegate",
            "Tidegate, DataFrame",
            ".venv",
            "on_tidegate",
            "batches",
            TIDEGATE_SETTINGS,
            mode="dataframe",
            kinds=("windows", "dense", "late", "stored"),
            levels=ALL_LEVELS,
        ),
        Engine(
            "tidegate-fused",
            "Tidegate, fused files",
            ".venv",
            "on_tidegate",
            "batches",
            TIDEGATE_SETTINGS,
            mode="fused",
            kinds=("windows", "dense", "late", "stored"),
            levels=ALL_LEVELS,
        ),
        Engine(
            "spark-csv",
            "Spark native, CSV",
            ".venv",
            "on_spark",
            "batches",
            SPARK_SETTINGS,
            format="csv",
            reading="CSV",
            share=0.5,
            windows=("tumbling",),
        ),
        Engine(
            "tidegate-fused-csv",
            "Tidegate, fused files, CSV",
            ".venv",
            "on_tidegate",
            "batches",
            TIDEGATE_SETTINGS,
            mode="fused",
            format="csv",
            reading="CSV",
            share=0.5,
            windows=("tumbling",),
        ),
        Engine(
            "flink-sql",
            "Flink SQL",
            ".venv-oracle",
            "on_flink_sql",
            "difference",
            "parallelism 2, object reuse, mini-batch (5 s, 50,000 rows), two-phase aggregation, heap state, a "
            "checkpoint every 10 s",
            share=0.5,
            reading="CSV",
        ),
        Engine(
            "pyflink",
            "PyFlink DataStream, Python aggregate",
            ".venv-oracle",
            "on_pyflink",
            "difference",
            "process mode, parallelism 2, object reuse, bundles of 100,000 records or 1 s, a state cache of 1,000,000 "
            "entries, source and watermarks in Java, heap state, a checkpoint every 10 s; sessions with `process` over "
            "all orders, since merged sessions lose orders with `aggregate`",
            share=0.003,
            slower={"sliding": 0.4, "session": 0.2},
            reading="CSV",
            levels=("low", "high"),
        ),
        Engine(
            "tidegate-python",
            "Tidegate, Python aggregate",
            ".venv",
            "on_tidegate",
            "batches",
            TIDEGATE_SETTINGS + "; the aggregate is the one that PyFlink gets",
            mode="python",
            share=0.1,
            levels=("low", "high"),
            slower={"sliding": 0.4},
        ),
        Engine(
            "bytewax",
            "Bytewax",
            ".venv-bench-bytewax",
            "on_bytewax",
            "difference",
            "two processes of one worker each, batches of 10,000 lines from a source, no recovery store, a clock that "
            "stands still so that only events move it",
            share=0.0025,
            slower={"sliding": 0.5},
            reading="CSV",
        ),
        Engine(
            "pathway",
            "Pathway",
            ".venv-bench-pathway",
            "on_pathway",
            "difference",
            "two threads, static CSV connector, no persistence; the whole input is one batch for it, so this is its "
            "best case",
            share=0.1,
            slower={"sliding": 0.2, "session": 0.1},
            reading="CSV",
        ),
        Engine(
            "quix",
            "Quix Streams",
            ".venv-bench-quix",
            "on_quix",
            "difference",
            "two processes in a consumer group, a loopback Kafka broker beside them, loaded before the clock starts "
            "with a topic that is already keyed by user; RocksDB state on disk, no changelog topics, a commit every "
            "10 s; sessions close by key, and the closing order that each user then needs is not timed",
            share=0.0125,
            slower={"sliding": 0.5},
            reading="Kafka, JSON",
        ),
    )
}

NOT_RUN = {
    "PyFlink with late orders": "with bundles of 100,000 records it found no order of a small input late, and an input "
    "large enough takes it too long",
}
