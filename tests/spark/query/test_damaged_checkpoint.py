"""A checkpoint with a damaged file: the error names the folder and says what to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.errors import SnapshotError

pytestmark = pytest.mark.spark

SCHEMA = "user string, at long"


class Job:
    """A job that was run, with more to read when it is started again."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self._spark = spark
        self._input = folder / "in"
        self._whole = folder / "whole"
        self.checkpoint = folder / "checkpoint"
        self.add(range(25))
        assert self.run() == 6
        self.add(range(25, 50))
        shutil.copytree(self.checkpoint, self._whole)

    def add(self, numbers: range) -> None:
        rows = [(f"u{number % 3}", number * 1_000) for number in numbers]
        self._spark.createDataFrame(rows, SCHEMA).coalesce(1).write.mode("append").parquet(str(self._input))

    def restore(self) -> None:
        shutil.rmtree(self.checkpoint)
        shutil.copytree(self._whole, self.checkpoint)

    def run(self, checkpoint: Path | None = None) -> int:
        """Returns how many windows fired."""
        env = StreamExecutionEnvironment.get_execution_environment(
            self._spark, parallelism=2, checkpoint=str(checkpoint or self.checkpoint), trigger="availableNow"
        )
        frame = self._spark.readStream.schema(SCHEMA).parquet(str(self._input))
        results = CollectSink()
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda row, _: row.at)
        (
            env.from_dataframe(frame, sequence="at")
            .assign_timestamps_and_watermarks(strategy)
            .map(lambda row: (row.user, 1))
            .key_by(lambda pair: pair[0])
            .window(TumblingEventTimeWindows.of("10 seconds"))
            .reduce(lambda a, b: (a[0], a[1] + b[1]))
            .sink_to(results)
        )
        # What the driver feeds goes through the spool, which has files of its own.
        env.from_collection([1, 2]).sink_to(CollectSink())
        env.execute("damaged")
        return len(results.results)


@pytest.fixture(scope="module")
def job(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job(spark, tmp_path_factory.mktemp("damaged"))


def garbage(data: bytes) -> bytes:
    return b"\x00garbage\xff\n"


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def empty(data: bytes) -> bytes:
    return b""


def damage(folder: Path, patterns: list[str], how: Callable[[bytes], bytes]) -> list[Path]:
    found = [path for pattern in patterns for path in folder.glob(pattern)]
    assert found
    for path in found:
        path.write_bytes(how(path.read_bytes()))
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    return found


@pytest.mark.parametrize("how", [garbage, half, empty])
@pytest.mark.parametrize(
    "name",
    [
        "program.json",
        "sinks.state",
        "spool/*.spool",
        "query/metadata",
        "query/offsets/0",
        "query/commits/0",
        "query/sources/1/0",
        "query/state/0/_metadata/v2/0",
    ],
)
def test_a_damaged_file_is_named(job: Job, name: str, how: Callable[[bytes], bytes]) -> None:
    job.restore()
    damaged = damage(job.checkpoint, [name], how)
    with pytest.raises(SnapshotError, match=r"cannot be read.*(new checkpoint|another checkpoint folder)") as caught:
        job.run()
    assert any(str(path) in str(caught.value) for path in damaged)


@pytest.mark.parametrize("how", [garbage, empty])
def test_state_that_cannot_be_loaded_is_told(job: Job, how: Callable[[bytes], bytes]) -> None:
    job.restore()
    # Spark reads a snapshot, or the changes since the last one, whichever it can.
    damage(job.checkpoint, ["query/state/1/*/1_*.changelog", "query/state/1/*/1_*.zip"], how)
    with pytest.raises(SnapshotError, match=r"checkpoint .* cannot be read: .*start from a new checkpoint") as caught:
        job.run()
    assert str(job.checkpoint) in str(caught.value)


def test_a_checkpoint_may_be_moved(job: Job, tmp_path: Path) -> None:
    job.restore()
    moved = tmp_path / "moved"
    shutil.copytree(job.checkpoint, moved)
    assert job.run(moved) == 6


def test_a_restored_checkpoint_goes_on(job: Job) -> None:
    job.restore()
    damage(job.checkpoint, ["query/offsets/0"], garbage)
    with pytest.raises(SnapshotError):
        job.run()
    job.restore()
    assert job.run() == 6
