"""Files with columns as a source; no Spark."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.errors import InvalidTypeError, InvalidValueError
from tidegate.ingest.file_formats import FilePart, JsonLines, Parquet
from tidegate.ingest.schemas import as_arrow_schema

SCHEMA = "user string, ts long, amount long"
ROWS = [("a", 1_000, 1), ("b", 2_000, 2), ("a", 61_000, 4)]


def write(folder: Path, kind: str, rows: list[tuple[Any, ...]], name: str = "0") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    dicts = [dict(zip(("user", "ts", "amount"), row, strict=True)) for row in rows]
    if kind == "parquet":
        pa.parquet.write_table(pa.Table.from_pylist(dicts, as_arrow_schema(SCHEMA)), folder / f"{name}.parquet")
    elif kind == "csv":
        lines = ["user,ts,amount", *(",".join(map(str, row)) for row in rows)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in dicts), encoding="utf-8")


def source(kind: str, folder: Path, **options: Any) -> Any:
    if kind == "parquet":
        return FileSource.parquet(str(folder), **options)
    make = FileSource.csv if kind == "csv" else FileSource.json_lines
    return make(str(folder), SCHEMA, **options)


def totals(found: Any) -> list[tuple[Any, ...]]:
    """Runs windows over a source on the local runtime."""
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    sink = CollectSink()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts")
    env.from_source(found, strategy, "files").key_by("user").window(TumblingEventTimeWindows.of("1 minute")).agg(
        total=agg.sum("amount")
    ).sink_to(sink)
    env.execute()
    return sorted(tuple(row) for row in sink.results)


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_every_format_gives_its_rows(tmp_path: Path, kind: str) -> None:
    write(tmp_path / "in", kind, ROWS)
    assert totals(source(kind, tmp_path / "in")) == [
        ("a", 0, 60_000, 1),
        ("a", 60_000, 120_000, 4),
        ("b", 0, 60_000, 2),
    ]


def test_files_are_read_in_the_order_of_their_names_and_hidden_ones_left_out(tmp_path: Path) -> None:
    for name in ("2", "1", "_hidden", ".hidden"):
        write(tmp_path, "csv", [(name, 1, 1)], name)
    assert [row[0] for row in source("csv", tmp_path).read("")] == ["1", "2"]


def test_sub_folders_are_channels(tmp_path: Path) -> None:
    write(tmp_path / "eu", "csv", ROWS[:1])
    write(tmp_path / "us", "csv", ROWS[1:])
    found = source("csv", tmp_path)
    assert list(found.channels()) == ["eu", "us"]
    assert [tuple(row) for row in found.read("us")] == ROWS[1:]


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_the_values_of_a_column_are_channels(tmp_path: Path, kind: str) -> None:
    write(tmp_path / "in", kind, ROWS)
    found = source(kind, tmp_path / "in", channel="user")
    assert list(found.channels()) == ["a", "b"]
    assert list(found.expected_channels()) == []
    assert [tuple(row) for row in found.read("a")] == [ROWS[0], ROWS[2]]
    assert len(totals(found)) == 3


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda p: FileSource.parquet(str(p / "none")), "there is no .*none"),
        (lambda p: FileSource.parquet(str(p)), "no file yet that says what the columns are"),
        (lambda p: FileSource.csv(str(p), "user string", channel="shop"), "no column 'shop'; the files have user"),
        (
            lambda p: FileSource.csv(str(p), "user strin"),
            "unknown type 'strin' of the column 'user'; use one of string, ",
        ),
        (lambda p: FileSource.csv(str(p), "user"), "cannot read the columns 'user' from 'user' on"),
        (lambda p: FileSource.csv(str(p), "user string", max_files_per_batch=0), "max_files_per_batch must be"),
    ],
)
def test_what_cannot_work_is_refused_when_the_source_is_made(tmp_path: Path, build: Any, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        build(tmp_path)


def test_columns_that_are_no_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidTypeError, match="expected the columns as text such as"):
        FileSource.csv(str(tmp_path), 5)


@pytest.mark.parametrize(("kind", "text"), [("csv", "user,ts,amount\na,x,1\n"), ("json", '{"ts": "x"}\n')])
def test_a_file_that_is_not_what_was_declared_is_named(tmp_path: Path, kind: str, text: str) -> None:
    (tmp_path / f"bad.{kind}").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidValueError, match=rf"bad\.{kind} is not the"):
        list(source(kind, tmp_path).read(""))


def test_a_damaged_parquet_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"nothing")
    with pytest.raises(InvalidValueError, match=r"bad\.parquet cannot be read as parquet"):
        source("parquet", tmp_path)


def test_declared_types_of_every_kind() -> None:
    schema = as_arrow_schema("a tinyint, `b c` decimal(10, 2), d timestamp, e: double, f timestamp_ntz")
    assert [str(kind) for kind in schema.types] == [
        "int8",
        "decimal128(10, 2)",
        "timestamp[us, tz=UTC]",
        "double",
        "timestamp[us]",
    ]


def test_json_lines_that_are_no_objects_are_refused(tmp_path: Path) -> None:
    """Arrow's parser crashes on such a file, which would take the worker with it."""
    file = tmp_path / "orders.json"
    file.write_text("\nnull\nnull\n")
    with pytest.raises(InvalidValueError, match="its first line is no object"):
        list(JsonLines(pa.schema([("user", pa.string())])).read(FilePart(str(file)), ["user"]))


@pytest.mark.parametrize(
    "values", [["a", "b"] * 500, [sha256(bytes([n % 251, n // 251])).hexdigest() for n in range(20_000)]]
)
def test_parquet_texts_of_few_values_come_as_dictionaries(tmp_path: Path, values: list[str]) -> None:
    file = tmp_path / "orders.parquet"
    nested = [{"user": "inner"}] * len(values)
    pa.parquet.write_table(pa.table({"nested": nested, "user": values}), file)
    batches = list(Parquet().read(FilePart(str(file)), ["user"], ["user"]))
    assert [value for batch in batches for value in batch.column("user").to_pylist()] == values
    assert pa.types.is_dictionary(batches[0].schema.field("user").type) == (len(set(values)) == 2)
