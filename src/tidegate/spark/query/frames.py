"""DataFrames whose queries are started our way, however many steps the user puts behind them.

Spark takes some settings from the session when a query starts, and the checkpoint from the writer. So a frame of ours,
and every frame, group and writer that is made of it, knows who starts its query.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame
from pyspark.sql.dataframe import DataFrame, DataFrameNaFunctions, DataFrameStatFunctions
from pyspark.sql.group import GroupedData
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

_LOCATION: Final = "checkpointLocation"
_STARTER: Final = "_tidegate_starter"

_ADOPTED: Final[dict[type, type]] = {}

_Made = TypeVar("_Made")


class Starter(Protocol):
    """Starts the query of a frame."""

    location: str | None
    """Where the query must keep its checkpoint, None if its user chooses that."""
    settles: bool
    """Whether the query only ends what it had begun, whatever its trigger."""

    def check_location(self, location: Any) -> None:
        """Refuse another place for the checkpoint."""

    def start(self, start: Callable[[], StreamingQuery], *, ends_by_itself: bool) -> StreamingQuery:
        """Start a query by what Spark would do, with all that it needs around it.

        `ends_by_itself` is whether its trigger lets it end with what is there.
        """


def adopt(made: _Made, starter: Starter) -> _Made:
    """Let what was made of our frame, if a query can come of it, start its query our way; all else is left as it is."""
    kind = _adopted(type(made))
    if kind is not None:
        made.__class__ = kind
        setattr(made, _STARTER, starter)
    return made


def _adopted(kind: type) -> type | None:
    """The class of ours for a class of Spark's; None for one that no query comes from."""
    if hasattr(kind, _STARTER) or not issubclass(kind, _kinds()):
        return None
    if kind not in _ADOPTED:
        base = _Writer if issubclass(kind, _writers()) else _Adopted
        _ADOPTED[kind] = type(kind.__name__, (base, kind), {_STARTER: None})
    return _ADOPTED[kind]


@functools.cache
def _kinds() -> tuple[type, ...]:
    classic = (DataFrame, ClassicFrame, GroupedData, DataFrameNaFunctions, DataFrameStatFunctions)
    return (*classic, *_writers(), *_of_connect("dataframe", "DataFrame"), *_of_connect("group", "GroupedData"))


@functools.cache
def _writers() -> tuple[type, ...]:
    return (DataStreamWriter, *_of_connect("streaming.readwriter", "DataStreamWriter"))


def _of_connect(module: str, name: str) -> tuple[type, ...]:
    """A class of Spark Connect's, if what it needs is installed."""
    try:
        found = __import__(f"pyspark.sql.connect.{module}", fromlist=[name])
    except Exception:
        return ()
    return (getattr(found, name),)


class _Adopted:
    """A frame, or what comes between two of them: everything that its public methods give is adopted too."""

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name.startswith("_"):
            return value
        starter = super().__getattribute__(_STARTER)
        if not callable(value) or _adopted(type(value)) is not None:
            return adopt(value, starter)

        @functools.wraps(value)
        def method(*args: Any, **keywords: Any) -> Any:
            return adopt(value(*args, **keywords), starter)

        return method


class _Writer:
    """What starts a query: at the place where its checkpoint belongs, and with the settings that it needs."""

    def option(self, key: str, value: Any) -> Any:
        if key.lower() == _LOCATION.lower():
            self._starter().check_location(value)
        return super().option(key, value)  # type: ignore[misc]

    def options(self, **options: Any) -> Any:
        for key, value in options.items():
            self.option(key, value)
        return self

    def trigger(self, **keywords: Any) -> Any:
        self._tidegate_ends = bool(keywords.get("availableNow") or keywords.get("once"))
        return super().trigger(**keywords)  # type: ignore[misc]

    def start(self, *args: Any, **keywords: Any) -> StreamingQuery:
        return self._start(super().start, args, keywords)  # type: ignore[misc]

    def toTable(self, *args: Any, **keywords: Any) -> StreamingQuery:  # noqa: N802
        return self._start(super().toTable, args, keywords)  # type: ignore[misc]

    def _start(self, start: Callable[..., StreamingQuery], args: Any, keywords: dict[str, Any]) -> StreamingQuery:
        starter = self._starter()
        for key in [key for key in keywords if key.lower() == _LOCATION.lower()]:
            starter.check_location(keywords[key])
        if starter.location is not None:
            super().option(_LOCATION, starter.location)  # type: ignore[misc]
        if starter.settles:
            super().trigger(availableNow=True)  # type: ignore[misc]
        return starter.start(lambda: start(*args, **keywords), ends_by_itself=getattr(self, "_tidegate_ends", False))

    def _starter(self) -> Starter:
        starter: Starter = getattr(self, _STARTER)
        return starter
