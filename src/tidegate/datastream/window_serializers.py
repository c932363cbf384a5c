"""The serializers of windows that PyFlink's assigners name; Tidegate packs windows by itself and calls none."""

from __future__ import annotations

import pickle
from typing import IO, TypeVar

from tidegate.common.serializer import TypeSerializer
from tidegate.core.window.windows import CountWindow, GlobalWindow, TimeWindow
from tidegate.errors import InvalidTypeError

W = TypeVar("W", TimeWindow, CountWindow, GlobalWindow)


class _WindowSerializer(TypeSerializer[W]):
    """Writes and reads windows of one kind, one after the other."""

    _kind: type[W]

    def serialize(self, element: W, stream: IO[bytes]) -> None:
        self._check(element)
        pickle.dump(element, stream)

    def deserialize(self, stream: IO[bytes]) -> W:
        window: W = pickle.load(stream)
        self._check(window)
        return window

    def _check(self, window: object) -> None:
        if not isinstance(window, self._kind):
            raise InvalidTypeError(f"{type(self).__name__}: expected a {self._kind.__name__}, got {window!r}")


class TimeWindowSerializer(_WindowSerializer[TimeWindow]):
    """For time windows.

    >>> import io
    >>> stream = io.BytesIO()
    >>> TimeWindowSerializer().serialize(TimeWindow(0, 10), stream)
    >>> _ = stream.seek(0)
    >>> TimeWindowSerializer().deserialize(stream)
    TimeWindow(start=0, end=10)
    """

    _kind = TimeWindow


class CountWindowSerializer(_WindowSerializer[CountWindow]):
    """For count windows."""

    _kind = CountWindow


class GlobalWindowSerializer(_WindowSerializer[GlobalWindow]):
    """For the global window."""

    _kind = GlobalWindow
