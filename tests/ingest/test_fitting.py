"""Files whose columns are not those of the others: widened where nothing is lost, refused by file and column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.datastream.connectors.file_system import FileSource
from tidegate.errors import InvalidValueError
from tidegate.ingest.fitting import is_widening

KINDS = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float32(), pa.float64()),
]


def edges(kind: pa.DataType) -> list[Any]:
    if pa.types.is_floating(kind):
        return [0.1, -1.5, float(2**24 + 2)]
    bits = kind.bit_width - pa.types.is_signed_integer(kind)
    return [0, 2**bits - 1, *([-(2**bits)] if pa.types.is_signed_integer(kind) else [])]


@given(st.sampled_from(KINDS), st.sampled_from(KINDS))
def test_what_is_widened_comes_back_as_it_was(kind: pa.DataType, target: pa.DataType) -> None:
    values = pa.array(edges(kind), kind)
    if is_widening(kind, target):
        assert values.cast(target).cast(kind).equals(values)
    elif pa.types.is_integer(kind) and pa.types.is_integer(target):
        with pytest.raises(pa.ArrowInvalid):
            values.cast(target)


def write(folder: Path, name: str, **columns: Any) -> None:
    folder.mkdir(exist_ok=True)
    pa.parquet.write_table(pa.table(columns), folder / f"{name}.parquet")


def read(folder: Path) -> list[Any]:
    return [tuple(row) for row in FileSource.parquet(str(folder)).read("")]


def test_a_file_with_narrower_columns_is_read_as_the_others(tmp_path: Path) -> None:
    write(tmp_path / "in", "1", user=["a"], amount=pa.array([1], pa.int64()))
    write(tmp_path / "in", "2", user=["b"], amount=pa.array([2], pa.int32()))
    assert read(tmp_path / "in") == [("a", 1), ("b", 2)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"user": ["b"], "amount": ["2"]}, "2.parquet: the column 'amount' is string and must be int64; convert"),
        ({"user": ["b"], "amount": [2.5]}, "2.parquet: the column 'amount' is double and must be int64"),
        ({"user": ["b"]}, "2.parquet: there is no column 'amount'; the file has user"),
    ],
)
def test_a_file_with_other_columns_is_refused_by_its_name_and_the_column(
    tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    write(tmp_path / "in", "1", user=["a"], amount=[1])
    write(tmp_path / "in", "2", **columns)
    with pytest.raises(InvalidValueError, match=message):
        read(tmp_path / "in")


def test_a_file_with_a_bad_page_is_refused_by_its_name(tmp_path: Path) -> None:
    write(tmp_path / "in", "1", user=["a" * 100] * 1_000, amount=list(range(1_000)))
    file = tmp_path / "in" / "1.parquet"
    data = bytearray(file.read_bytes())
    data[4:400] = bytes(396)
    file.write_bytes(data)
    with pytest.raises(InvalidValueError, match=r"1\.parquet cannot be read as parquet"):
        read(tmp_path / "in")
