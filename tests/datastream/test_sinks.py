from __future__ import annotations

import csv
import json
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet
import pytest

from tidegate.core.operator.sink import BatchId, SinkContext
from tidegate.core.time.millis import MIN_TIME
from tidegate.datastream import FileSink, Sink, StreamExecutionEnvironment
from tidegate.datastream.sinks import ForeachBatchSink
from tidegate.errors import ClosedError, InvalidTypeError, InvalidValueError, UserCodeError

CONTEXT = SinkContext(None, MIN_TIME)


class Reading(NamedTuple):
    name: str
    level: int


READINGS = [Reading("north", 3), Reading("south", 5), Reading("north", 4)]


def run(sink: Sink | FileSink, values: list[Any], parallelism: int = 1) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=parallelism)
    env.from_collection(values).rebalance().map(lambda value: value).sink_to(sink)
    env.execute()


def parts(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("part-*") if path.is_file())


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_local_run_is_a_file_of_each_subtask(tmp_path: Path, parallelism: int) -> None:
    run(FileSink(tmp_path), ["a", "b", "c"], parallelism)
    found = parts(tmp_path)
    assert [part.suffix for part in found] == [".txt"] * parallelism
    assert sorted(line for part in found for line in part.read_text().splitlines()) == ["a", "b", "c"]


def test_named_tuples_become_json_objects_with_names(tmp_path: Path) -> None:
    run(FileSink(tmp_path, "json"), READINGS)
    (part,) = parts(tmp_path)
    assert [json.loads(line) for line in part.read_text().splitlines()] == [r._asdict() for r in READINGS]


def test_parquet_with_a_folder_for_each_name(tmp_path: Path) -> None:
    run(FileSink(tmp_path, "parquet", bucket=lambda reading: f"at={reading.name}"), READINGS)
    rows = {part.parent.name: pyarrow.parquet.ParquetFile(part).read().to_pylist() for part in parts(tmp_path)}
    assert rows == {
        "at=north": [{"name": "north", "level": 3}, {"name": "north", "level": 4}],
        "at=south": [{"name": "south", "level": 5}],
    }


def test_csv_has_names_and_quotes(tmp_path: Path) -> None:
    run(FileSink(tmp_path, "csv"), [{"name": 'a "b", c', "level": None}, {"name": "d\n", "level": 2}])
    (part,) = parts(tmp_path)
    with part.open(newline="") as file:
        assert list(csv.reader(file)) == [["name", "level"], ['a "b", c', ""], ["d\n", "2"]]
    with pytest.raises(InvalidValueError, match="the columns of a csv file are name, level, got"):
        run(FileSink(tmp_path, "csv"), [*READINGS, {"name": "x"}])


def test_parquet_of_values_without_names_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidTypeError, match="parquet needs rows with names, got 1; map elements to dicts first"):
        run(FileSink(tmp_path, "parquet"), [1])


def test_a_function_may_encode(tmp_path: Path) -> None:
    run(FileSink(tmp_path, lambda value: bytes([value]), suffix=".bin"), [1, 2])
    assert [part.read_bytes() for part in parts(tmp_path)] == [b"\1\2"]


def test_a_failed_run_leaves_no_files(tmp_path: Path) -> None:
    def encode(value: int) -> bytes:
        return b"%d" % (1 // value)

    with pytest.raises(UserCodeError, match="ZeroDivisionError"):
        run(FileSink(tmp_path, encode), [1, 0])
    assert not parts(tmp_path)
    assert not list(tmp_path.rglob("*.inprogress"))


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="file_format is one of 'text', 'json', 'csv', 'parquet' or a function"):
        FileSink(tmp_path, "xml")  # type: ignore[arg-type]


def test_a_folder_of_another_machine_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="'s3://bucket/out' is not a folder of this machine"):
        FileSink("s3://bucket/out")


def test_a_file_sink_that_no_job_opened_says_so(tmp_path: Path) -> None:
    with pytest.raises(ClosedError, match="FileSink: not open"):
        FileSink(tmp_path).create_writer().write("x", CONTEXT)


@pytest.mark.parametrize("parallelism", [1, 3])
def test_for_each_batch_gets_a_local_run_as_one_batch(parallelism: int) -> None:
    calls: list[tuple[list[Any], int]] = []
    run(ForeachBatchSink(lambda values, batch_id: calls.append((values, batch_id))), [1, 2, 3], parallelism)
    ((values, batch_id),) = calls
    assert (sorted(values), batch_id) == ([1, 2, 3], 0)


def test_for_each_batch_is_not_called_for_an_empty_batch() -> None:
    calls: list[int] = []
    sink = ForeachBatchSink(lambda values, batch_id: calls.append(batch_id))
    for batch_id, values in enumerate([["a"], [], ["b"]]):
        sink.begin_batch(BatchId(batch_id))
        for value in values:
            sink.write(value, CONTEXT)
        sink.commit_batch(BatchId(batch_id))
    assert calls == [0, 2]


def test_for_each_batch_forgets_what_was_not_committed() -> None:
    calls: list[list[Any]] = []
    sink = ForeachBatchSink(lambda values, batch_id: calls.append(values))
    for value in ("half", "whole"):
        sink.begin_batch(BatchId(7))
        sink.write(value, CONTEXT)
    sink.commit_batch(BatchId(7))
    assert calls == [["whole"]]


def test_for_each_batch_needs_a_function() -> None:
    with pytest.raises(InvalidTypeError, match="expected a function of"):
        ForeachBatchSink("insert")  # type: ignore[arg-type]


def test_what_a_sink_holds_stays_in_the_driver(tmp_path: Path) -> None:
    with (tmp_path / "connection").open("w") as connection:
        pickle.dumps(ForeachBatchSink(lambda values, batch_id: connection.writelines(values)))


def test_numbers_that_json_has_not_are_texts(tmp_path: Path) -> None:
    sink = FileSink(tmp_path, "json")
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    values = [{"x": float("nan"), "y": [float("inf"), 1.5]}, {"x": float("-inf"), "y": []}]
    env.from_collection(values).sink_to(sink)
    env.execute()
    (file,) = tmp_path.glob("part-*")
    found = [json.loads(line, parse_constant=pytest.fail) for line in file.read_text().splitlines()]
    assert found == [{"x": "NaN", "y": ["Infinity", 1.5]}, {"x": "-Infinity", "y": []}]
