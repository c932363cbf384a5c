"""`TypeSerializer`: what PyFlink's own window assigners name in `get_window_serializer`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import IO, Generic, TypeVar

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Writes and reads values of one type. Assigners may return one; Tidegate packs windows by itself."""

    @abstractmethod
    def serialize(self, element: T, stream: IO[bytes]) -> None:
        """Write the element."""

    @abstractmethod
    def deserialize(self, stream: IO[bytes]) -> T:
        """Read the next element."""
