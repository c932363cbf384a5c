"""`tidegate rescale` on the command line, with a DataFrame whose query the program itself starts."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tidegate.cli.app import call

PROGRAM = """
import os
import sys
from pyspark.sql import SparkSession
from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.datastream import StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows

folder, parallelism, stops_in_the_middle = sys.argv[1], int(sys.argv[2]), len(sys.argv) > 3
spark = SparkSession.getActiveSession()
frame = (
    spark.readStream.schema("user string, ts timestamp, amount long").option("maxFilesPerTrigger", 1)
    .json(folder + "/in")
)
env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=parallelism)
sums = (
    env.from_dataframe(frame)
    .assign_timestamps_and_watermarks(
        WatermarkStrategy.for_bounded_out_of_orderness("10 seconds").with_timestamp_column("ts")
    )
    .key_by("user")
    .window(TumblingEventTimeWindows.of("1 minute"))
    .agg(records=agg.count(), total=agg.sum("amount"))
    .to_dataframe(checkpoint=folder + "/checkpoint")
)

def store(batch, number):
    rows = [[row.user, int(row.window_start.timestamp()), row.records, row.total] for row in batch.collect()]
    if stops_in_the_middle and number >= 2:
        raise RuntimeError("in the middle of a batch")
    with open(f"{folder}/out/{number}.json", "w") as file:
        file.write(str(rows).replace("'", '"'))

query = sums.writeStream.foreachBatch(store).trigger(availableNow=True).start()
query.awaitTermination()
"""


class Case:
    """A program in a folder, with files that it reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "program.py"
        self.program.write_text(PROGRAM)
        self._dice = random.Random(3)
        self._minute = 0
        self.rows: list[tuple[str, int, int]] = []
        for name in ("in", "out"):
            (folder / name).mkdir()

    def add(self, minutes: int) -> None:
        for _ in range(minutes):
            rows = []
            for _ in range(60):
                at = 1_767_225_600 + self._minute * 60 + self._dice.randrange(60)
                rows.append((f"u{self._dice.randrange(17)}", at, self._dice.randrange(100)))
            text = "".join(
                json.dumps({"user": user, "ts": f"{_shown(at)}", "amount": amount}) + "\n" for user, at, amount in rows
            )
            path = self.folder / "in" / f"{self._minute:03d}.json"
            path.write_text(text)
            # Spark reads files by their age, and takes those of the same moment in any order.
            os.utime(path, (self._minute, 1_767_225_600 + self._minute))
            self.rows += rows
            self._minute += 1

    def run(self, parallelism: int, *options: str) -> int:
        return call(["run", str(self.program), "--", str(self.folder), str(parallelism), *options])

    def rescale(self, parallelism: int) -> int:
        checkpoint = str(self.folder / "checkpoint")
        return call(
            ["rescale", checkpoint, str(self.program), "--parallelism", str(parallelism), "--", str(self.folder), "9"]
        )

    def found(self) -> Counter[Any]:
        return Counter(
            tuple(row) for path in (self.folder / "out").glob("*.json") for row in json.loads(path.read_text())
        )

    def answer(self) -> Counter[Any]:
        """All windows that the last watermark has passed."""
        highest = max(at for _, at, _ in self.rows) - 10
        windows: dict[tuple[str, int], list[int]] = {}
        for user, at, amount in self.rows:
            windows.setdefault((user, at - at % 60), []).append(amount)
        return Counter(
            (user, start, len(amounts), sum(amounts))
            for (user, start), amounts in windows.items()
            if start + 60 <= highest
        )


def _shown(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.spark
def test_a_query_that_its_program_starts_is_rescaled_and_its_last_batch_ended_first(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = Case(tmp_path)
    case.add(4)
    assert case.run(2, "stops in the middle") == 1
    assert len(list((tmp_path / "checkpoint" / "query" / "commits").glob("[0-9]*"))) == 2
    assert case.rescale(5) == 0
    shown = capsys.readouterr()
    assert "was not ended: this is done first" in shown.err
    assert "parallelism 2 -> 5" in shown.out
    case.add(2)
    assert case.run(2) == 1
    assert "written with parallelism 5, the job has 2" in capsys.readouterr().err
    assert case.run(5) == 0
    assert case.found() == case.answer()


def test_what_cannot_be_rescaled_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.py"
    program.write_text("from tidegate.datastream import StreamExecutionEnvironment\n")
    assert call(["rescale", str(tmp_path / "nowhere"), str(program), "--parallelism", "2"]) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert call(["rescale", str(tmp_path), str(program)]) == 2
    assert "--parallelism N" in capsys.readouterr().err
    assert call(["rescale", str(tmp_path), str(program), "--parallelism", "2"]) == 1
    assert "has no job with the checkpoint" in capsys.readouterr().err
