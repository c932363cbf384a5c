"""What an aggregate is.

Everything about one is in its class: how it is computed element by element and on columns, which columns it takes, and
what it gives. The function beside the class is what users call.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa

from tidegate.core.columnar.parts import Part
from tidegate.core.function.fields import Field, get_field


class Aggregate(ABC):
    """One aggregate. A field that is None does not take part, as in SQL."""

    __slots__ = ()

    # Element by element

    @abstractmethod
    def create(self) -> Any:
        """The accumulator of no element."""

    @abstractmethod
    def add(self, accumulator: Any, value: Any) -> Any: ...

    @abstractmethod
    def merge(self, left: Any, right: Any) -> Any:
        """Both accumulators as one; `left` has the earlier elements."""

    def result(self, accumulator: Any) -> Any:
        return accumulator

    # On columns

    def parts(self) -> tuple[Part, ...]:
        """What is kept of the records of a group; () for their number alone. Aggregates share parts that are alike."""
        return ()

    def takes(self, columns: Mapping[str, pa.DataType]) -> bool:
        """Whether it can be computed on columns of these types."""
        return False

    def finish(self, columns: list[Any]) -> Any:
        """The results, from the finished columns of its parts."""
        return columns[0]

    # What it reads, and what it gives

    def fields(self) -> tuple[Field, ...]:
        """The fields that it reads."""
        return tuple(value for f in fields(self) if (value := getattr(self, f.name)) is not None)  # type: ignore[arg-type]

    def result_type(self, columns: Mapping[Field, str]) -> str:
        """The type of its results in Spark's words, by those of the columns it reads."""
        return columns[self.fields()[0]]

    def __str__(self) -> str:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()
        return f"{name}({', '.join(map(str, self.fields()))})"


@dataclass(frozen=True, slots=True)
class OverField(Aggregate):
    """An aggregate over the values of one field; its accumulator is None until the first."""

    field: Field

    def create(self) -> Any:
        return None

    def add(self, accumulator: Any, value: Any) -> Any:
        item = get_field(value, self.field)
        if item is None:
            return accumulator
        return self._first(item) if accumulator is None else self._next(accumulator, item)

    def merge(self, left: Any, right: Any) -> Any:
        if left is None or right is None:
            return right if left is None else left
        return self._both(left, right)

    def takes(self, columns: Mapping[str, pa.DataType]) -> bool:
        return isinstance(self.field, str) and self.field in columns and self._takes(columns[self.field])

    def _takes(self, kind: pa.DataType) -> bool:
        """Whether values of a column of this type can be aggregated."""
        return True

    def _first(self, item: Any) -> Any:
        return item

    def _next(self, accumulator: Any, item: Any) -> Any:
        return self._both(accumulator, self._first(item))

    @abstractmethod
    def _both(self, left: Any, right: Any) -> Any: ...

    __str__ = Aggregate.__str__
