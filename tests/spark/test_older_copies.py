"""A checkpoint restored from an older copy: what was written since then is written again, and nothing is lost."""

from __future__ import annotations

import json
import logging
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tidegate.common import WatermarkStrategy
from tidegate.datastream import FileSink, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import FileSource

pytestmark = pytest.mark.spark

PER_FILE = 40


def add_file(folder: Path, number: int) -> None:
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"n": number * PER_FILE + index}) for index in range(PER_FILE)]
    (folder / f"{number:03d}.json").write_text("\n".join(lines))


def run(spark: Any, folder: Path, *, files_at_once: int | None) -> None:
    """Process all files that are there."""
    env = StreamExecutionEnvironment.get_execution_environment(
        spark, parallelism=2, checkpoint=str(folder / "checkpoint"), trigger="availableNow"
    )
    source = FileSource.json_lines(str(folder / "in"), "n long", watch=True, max_files_per_batch=files_at_once)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    buckets = FileSink(folder / "out", "json", bucket=lambda row: f"rest={row['n'] % 3}")
    stream.map(lambda row: {"n": row["n"]}).sink_to(buckets)
    env.execute("copies")


def written(folder: Path) -> Counter[int]:
    paths = (folder / "out").rglob("part-*.json")
    return Counter(json.loads(line)["n"] for path in paths for line in path.read_text().splitlines())


def test_an_older_copy_goes_on_without_loss_or_repetition(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its numbers of batches come again with other data: the sink must not take those for what it has."""
    caplog.set_level(logging.WARNING, "tidegate")
    for number in range(2):
        add_file(tmp_path / "in", number)
    run(spark, tmp_path, files_at_once=1)
    shutil.copytree(tmp_path / "checkpoint", tmp_path / "copy")
    for number in range(2, 4):
        add_file(tmp_path / "in", number)
    run(spark, tmp_path, files_at_once=1)
    shutil.rmtree(tmp_path / "checkpoint")
    (tmp_path / "copy").rename(tmp_path / "checkpoint")
    add_file(tmp_path / "in", 4)
    run(spark, tmp_path, files_at_once=None)
    assert written(tmp_path) == Counter(range(5 * PER_FILE))
    assert "are taken back and written again" in caplog.text
