"""`FileSink`: a stream as files, exactly once."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from tidegate.core.operator.sink import Sink, SinkContext
from tidegate.datastream.part_files import PartFiles, bucket_folder
from tidegate.errors import ClosedError, InvalidTypeError, InvalidValueError

Encode = Callable[[Any], bytes]


class FileSink(Sink):
    """Writes every batch's elements to a file of their own below `path`; on Spark exactly once.

    `file_format` is `"text"` (a line of `str(value)` each), `"json"` (a line of JSON each), `"parquet"`, or a function
    from an element to its bytes. Readers see only whole files. A batch that comes again after a crash is not written
    again. A new job writes beside what is there. `bucket` chooses a folder below `path` for an element.

    >>> sink = FileSink("/data/orders", "json", bucket=lambda order: f"country={order['country']}")
    """

    def __init__(
        self,
        path: str | Path,
        file_format: Literal["text", "json", "parquet"] | Encode = "text",
        *,
        bucket: Callable[[Any], str] | None = None,
        prefix: str = "part",
        suffix: str | None = None,
    ) -> None:
        if not callable(file_format) and file_format not in _SUFFIXES:
            raise InvalidValueError(
                f"FileSink: file_format is one of {', '.join(map(repr, _SUFFIXES))} or a function from an element to "
                f"bytes, got {file_format!r}"
            )
        if "://" in str(path):
            raise InvalidValueError(
                f"FileSink: {str(path)!r} is not a folder of this machine; mount it, or write with Spark's own sinks "
                "behind to_dataframe"
            )
        self._path = Path(path)
        self._bucket = bucket
        self._prefix = prefix
        self._suffix = ("" if callable(file_format) else _SUFFIXES[file_format]) if suffix is None else suffix
        self._encode: Encode | None = file_format if callable(file_format) else _ENCODERS.get(file_format)
        self._rows: dict[str, list[Any]] = {}
        self._parts: PartFiles | None = None
        PartFiles(self._path, prefix=self._prefix, suffix=self._suffix)  # checks the names

    def open(self, runtime_context: Any) -> None:
        if self._parts is None:
            writer = runtime_context.get_operator_unique_id()
            self._parts = PartFiles(self._path, writer, prefix=self._prefix, suffix=self._suffix)
            self._parts.open()

    def begin_batch(self, batch_id: int) -> None:
        self._rows.clear()
        self._opened().begin(batch_id)

    def write(self, value: Any, context: SinkContext) -> None:
        parts = self._opened()
        if parts.is_repeated:
            return
        bucket = "" if self._bucket is None else self._bucket(value)
        if self._encode is None:
            self._rows.setdefault(bucket_folder(bucket), []).append(value)
        else:
            parts.write(self._encode(value), bucket)

    def commit_batch(self, batch_id: int) -> None:
        parts = self._opened()
        for bucket, rows in self._rows.items():
            _write_parquet(rows, parts.file(bucket))
        self._rows.clear()
        parts.commit()

    def close(self) -> None:
        if self._parts is not None:
            self._parts.discard()

    def __getstate__(self) -> dict[str, Any]:
        # Files belong to the driver's process.
        return {**self.__dict__, "_parts": None, "_rows": {}}

    def _opened(self) -> PartFiles:
        if self._parts is None:
            raise ClosedError("FileSink: not open; a job opens its sinks")
        return self._parts


def _text(value: Any) -> bytes:
    return f"{value}\n".encode()


def _json(value: Any) -> bytes:
    plain = _plain(value)
    try:
        text = json.dumps(plain, ensure_ascii=False, default=str, allow_nan=False)
    except ValueError:
        text = json.dumps(_with_named_numbers(plain), ensure_ascii=False, default=str, allow_nan=False)
    return f"{text}\n".encode()


def _with_named_numbers(value: Any) -> Any:
    """What JSON has no numbers for as texts, the way Spark writes them: "NaN", "Infinity", "-Infinity"."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {name: _with_named_numbers(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_named_numbers(item) for item in value]
    return value


def _plain(value: Any) -> Any:
    """Rows and named tuples as dicts."""
    for name in ("as_dict", "asDict", "_asdict"):
        convert = getattr(value, name, None)
        if callable(convert):
            return convert()
    return value


def _write_parquet(rows: list[Any], file: Any) -> None:
    import pyarrow
    import pyarrow.parquet

    plain = [_plain(row) for row in rows]
    for row in plain:
        if not isinstance(row, Mapping):
            raise InvalidTypeError(f"FileSink: parquet needs rows with names, got {row!r}; map elements to dicts first")
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(plain), file)


_SUFFIXES: Final = {"text": ".txt", "json": ".json", "parquet": ".parquet"}
_ENCODERS: Final[dict[str, Encode]] = {"text": _text, "json": _json}
