"""What the elements of a stream look like in the files of a `FileSink`."""

from __future__ import annotations

import csv
import io
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import IO, Any, Final

import numpy as np

from tidegate.errors import InvalidTypeError, InvalidValueError

Encode = Callable[[Any], bytes]


class PartContent(ABC):
    """What grows in one file."""

    @abstractmethod
    def add(self, value: Any, file: IO[bytes]) -> None: ...

    def finish(self, file: IO[bytes]) -> None:
        """No more elements will come."""


class _Encoded(PartContent):
    """One element after the other, each as its bytes."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode

    def add(self, value: Any, file: IO[bytes]) -> None:
        file.write(self._encode(value))


class _Csv(PartContent):
    """A line with the names, and then a line for each element."""

    def __init__(self) -> None:
        self._names: list[str] | None = None

    def add(self, value: Any, file: IO[bytes]) -> None:
        row = _named(value, "csv")
        if self._names is None:
            self._names = list(row)
            file.write(_line(self._names))
        elif list(row) != self._names:
            raise InvalidValueError(
                f"FileSink: the columns of a csv file are {', '.join(self._names)}, got {value!r}; give all elements "
                "the same fields, or write json"
            )
        file.write(_line(row.values()))


class _Parquet(PartContent):
    """All elements of a file as one table."""

    def __init__(self) -> None:
        self._rows: list[Mapping[str, Any]] = []

    def add(self, value: Any, file: IO[bytes]) -> None:
        self._rows.append(dict(_named(value, "parquet")))

    def finish(self, file: IO[bytes]) -> None:
        import pyarrow
        import pyarrow.parquet

        # By itself Arrow looks at the fields of the first row only.
        names = dict.fromkeys(name for row in self._rows for name in row)
        columns = {name: [row.get(name) for row in self._rows] for name in names}
        pyarrow.parquet.write_table(pyarrow.table(columns), file)


def _text(value: Any) -> bytes:
    return f"{value}\n".encode()


def _json(value: Any) -> bytes:
    plain = _plain(value)
    try:
        text = json.dumps(plain, ensure_ascii=False, default=_inner, allow_nan=False)
    except ValueError:
        text = json.dumps(_with_named_numbers(plain), ensure_ascii=False, default=_inner, allow_nan=False)
    return f"{text}\n".encode()


def _with_named_numbers(value: Any) -> Any:
    """What JSON has no numbers for as texts, the way Spark writes them: "NaN", "Infinity", "-Infinity"."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {name: _with_named_numbers(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_named_numbers(item) for item in value]
    if isinstance(value, np.generic):
        return _with_named_numbers(value.item())
    return value


def _inner(value: Any) -> Any:
    """What JSON has no form for: rows inside of others, numbers of numpy; all else as its text."""
    if isinstance(value, np.generic):
        return _with_named_numbers(value.item())
    plain = _plain(value)
    return str(value) if plain is value else plain


def _line(values: Any) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(["" if value is None else value for value in values])
    return text.getvalue().encode()


def _plain(value: Any) -> Any:
    """Rows and named tuples as dicts."""
    for name in ("as_dict", "asDict", "_asdict"):
        convert = getattr(value, name, None)
        if callable(convert):
            return convert()
    return value


def _named(value: Any, file_format: str) -> Mapping[str, Any]:
    plain = _plain(value)
    if not isinstance(plain, Mapping):
        raise InvalidTypeError(
            f"FileSink: {file_format} needs rows with names, got {plain!r}; map elements to dicts first"
        )
    return plain


SUFFIXES: Final = {"text": ".txt", "json": ".json", "csv": ".csv", "parquet": ".parquet"}
_CONTENTS: Final[dict[str, Callable[[], PartContent]]] = {
    "text": lambda: _Encoded(_text),
    "json": lambda: _Encoded(_json),
    "csv": _Csv,
    "parquet": _Parquet,
}


def new_content(file_format: str | Encode) -> PartContent:
    """The content of a file that begins."""
    return _CONTENTS[file_format]() if isinstance(file_format, str) else _Encoded(file_format)
