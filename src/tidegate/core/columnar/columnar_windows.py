"""Event-time windows with built-in aggregates, on columns: the results of the window operator, many rows at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import pyarrow as pa

from tidegate.core.aggregate.combined import CombinedAggregate
from tidegate.core.columnar.columnar_operator import ColumnarOperator
from tidegate.core.columnar.kept_rows import KeptRows, is_reducible
from tidegate.core.columnar.pane_log import share_panes
from tidegate.core.columnar.partials import PartialAggregates, are_columnar
from tidegate.core.columnar.session_windows import SessionColumnsOperator
from tidegate.core.columnar.sliced_windows import SlicedWindowOperator
from tidegate.core.key.key_groups import KeyGroups
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.state.blobs import Blobs
from tidegate.core.state.format import StateFormat
from tidegate.core.window.assigners import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowStagger,
)
from tidegate.core.window.triggers import fires_at_window_end
from tidegate.core.window.window_functions import MakesRows, ReducedContents
from tidegate.core.window.window_operator import WindowSpec

MakeElements = Callable[[Sequence[str]], Callable[..., Any]]
"""Takes the names of columns, and gives what makes an element of their values."""


@dataclass(frozen=True, slots=True)
class ColumnarSpec(OperatorSpec):
    """A window operation on columns: the window, its key and records, how a row becomes an element."""

    window: WindowSpec
    key_names: tuple[str, ...]
    schema: pa.Schema
    make_elements: MakeElements | None = None

    @staticmethod
    def of(
        spec: OperatorSpec, key_names: Sequence[str], schema: pa.Schema, make_elements: MakeElements
    ) -> ColumnarSpec | None:
        """The form of an operation on columns, None if it has none."""
        if not is_columnar(spec, key_names, schema):
            return None
        return ColumnarSpec(spec, tuple(key_names), schema, make_elements)

    @property
    def partials(self) -> PartialAggregates:
        contents: Any = self.window.contents
        if self.keeps_rows:
            return KeptRows(contents.function, self.schema)
        return PartialAggregates.of(contents.function)

    @property
    def keeps_rows(self) -> bool:
        """Whether results are records, as those of `sum("amount")` are."""
        return isinstance(self.window.contents, ReducedContents)

    @property
    def make_row(self) -> Callable[[tuple[Any, ...]], Any]:
        """What makes an element of a row of results: key, window's start and end, aggregates."""
        assert isinstance(self.window.function, MakesRows)
        return self.window.function.make_row

    @property
    def needs_all_columns(self) -> bool:
        """Whether records leave as they came."""
        return self.window.late_output is not None or self.keeps_rows

    @property
    def needs_records(self) -> bool:
        """Whether the operator must see records: to fire again for each late one, or to send late ones aside.

        Aggregates such as `agg.first` depend on the order in which all records arrive.
        Where windows leave gaps, only a record's own time says whether it is late or in no window. A record behind
        the watermark is late for a session or not by what came before it.
        """
        assigner: Any = self.window.assigner
        has_gaps = isinstance(assigner, SlidingEventTimeWindows) and assigner.slide > assigner.size
        is_session = isinstance(assigner, EventTimeSessionWindows)
        late = self.window.allowed_lateness > 0 or self.window.late_output is not None
        return late or has_gaps or is_session or self.partials.needs_order

    def state_format(self) -> StateFormat:
        kinds = {name: str(self.schema.field(name).type) for name in self.partials.fields}
        key = {name: str(self.schema.field(name).type) for name in self.key_names}
        return StateFormat(
            "a window on columns",
            fixed={**self.window.fixed_meaning(), "key": key},
            shared=self.window.shared_meaning() | {f"column {name}": kind for name, kind in kinds.items()},
            flexible=self.window.flexible_meaning(self.partials.parts_by_aggregate),
        )

    def share_own(
        self, owns: Sequence[Any], blobs: Sequence[Blobs], into: Sequence[Blobs], groups: KeyGroups
    ) -> list[Any]:
        def parted(table: pa.Table) -> list[pa.Table]:
            subtasks = groups.subtasks_of(table, self.key_names)
            return [table.filter(pa.array(subtasks == subtask)) for subtask in range(len(into))]

        logs = share_panes([log for log, _ in owns], blobs, into, parted)
        number = max(number for _, number in owns)
        return [[log, number] for log in logs]

    def create(self) -> ColumnarOperator:
        if isinstance(self.window.assigner, EventTimeSessionWindows):
            return SessionColumnsOperator(self)
        return SlicedWindowOperator(self)


def is_columnar(spec: OperatorSpec, key_names: Sequence[str], schema: pa.Schema) -> TypeGuard[WindowSpec]:
    """Whether a window operation over records of these columns can run on columns, with the same results."""
    if not isinstance(spec, WindowSpec):
        return False
    is_default = fires_at_window_end(spec.effective_trigger) and spec.effective_evictor is None
    assigner = spec.assigner
    is_plain = type(assigner) in (SlidingEventTimeWindows, EventTimeSessionWindows) or (
        type(assigner) is TumblingEventTimeWindows and assigner.stagger is WindowStagger.ALIGNED
    )
    has_keys = bool(key_names) and all(is_key(schema, name) for name in key_names)
    return is_default and is_plain and has_keys and spec.is_keyed and _are_contents_columnar(spec, schema)


def _are_contents_columnar(spec: WindowSpec, schema: pa.Schema) -> bool:
    is_session = isinstance(spec.assigner, EventTimeSessionWindows)
    # When sessions merge, the window operator puts one after the other, not their records in order of arrival.
    if isinstance(spec.contents, ReducedContents):
        return spec.function is None and not is_session and is_reducible(spec.contents.function, schema)
    combined = getattr(spec.contents, "function", None)
    if not isinstance(combined, CombinedAggregate) or not isinstance(spec.function, MakesRows):
        return False
    return are_columnar(combined, schema) and not (is_session and PartialAggregates.of(combined).needs_order)


def is_key(schema: pa.Schema, name: str) -> bool:
    """Whether keys of a column can be told apart and hashed as columns."""
    if schema.get_field_index(name) < 0:
        return False
    kind = schema.field(name).type
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_date(kind)
    )
