"""Entries: sources that are read straight into keyed tasks, as columns, without a stage of their own.

A stage keyed by channel is needed where a generator must see every record. The built-in ones need only the highest
timestamp: so whoever reads sends every subtask a summary for each channel, and every subtask keeps the same copies of
the generators, their idle countdowns and the valve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from tidegate.core.columnar.columnar_windows import ColumnarSpec, is_columnar, is_key
from tidegate.core.function.fields import FieldKey
from tidegate.core.source.dataframe_source import DataFrameSource
from tidegate.core.watermark.assign_watermarks import AssignWatermarksSpec
from tidegate.core.watermark.strategy import Ascending, Bounded, NoWatermarks, WatermarkStrategy
from tidegate.core.watermark.timestamps import ColumnTimestampAssigner
from tidegate.graph.nodes import ChainNode, KeyBy, SourceNode, TaskNode
from tidegate.graph.plan import Plan
from tidegate.ingest.column_source import ColumnSource
from tidegate.spark.routing import Reader, readers_of
from tidegate.spark.row_spec import RowSpec


@dataclass(frozen=True, slots=True)
class TaskInput:
    """A task that an entry feeds: its node, and how it takes what is read."""

    node: TaskNode
    spec: ColumnarSpec | RowSpec


@dataclass(frozen=True, slots=True)
class Entry:
    """A source, the operator that gives its records their time, and the keyed tasks behind it."""

    source: SourceNode
    assign: ChainNode
    tasks: tuple[TaskInput, ...]

    @property
    def time_column(self) -> str:
        spec: Any = self.assign.spec
        column: str = spec.strategy.timestamp_assigner.column
        return column

    @property
    def needs_records(self) -> bool:
        """Whether some of the tasks must see records."""
        return any(task.spec.needs_records for task in self.tasks)

    def needed(self, columns: Sequence[str]) -> list[str]:
        """Those of the columns that the tasks need: all if records leave as they came."""
        needed = {self.time_column}
        for task in self.tasks:
            if isinstance(task.spec, RowSpec) or task.spec.needs_all_columns:
                return list(columns)
            needed.update(task.spec.key_names, task.spec.partials.fields)
        return [name for name in columns if name in needed]

    def text_keys(self, schema: pa.Schema) -> tuple[str, ...]:
        """The text columns that some task is keyed by."""
        names = dict.fromkeys(name for task in self.tasks for name in task.spec.key_names)
        return tuple(name for name in names if pa.types.is_string(schema.field(name).type))


def find_entries(plan: Plan, parallelism: int) -> tuple[Entry, ...]:
    """The sources of a plan that need no stage."""
    readers = readers_of(plan)
    found = (_entry(node, readers) for node in plan.graph.nodes if isinstance(node, SourceNode))
    return tuple(entry for entry in found if entry is not None and _runs_everywhere(entry, plan, parallelism))


def with_entries(plan: Plan, parallelism: int) -> Plan:
    """The plan with what needs no stage marked."""
    entries = find_entries(plan, max([parallelism, *plan.graph.parallelism.values()]))
    return replace(plan, straight=frozenset(n.number for entry in entries for n in (entry.source, entry.assign)))


def _runs_everywhere(entry: Entry, plan: Plan, parallelism: int) -> bool:
    return all(plan.graph.parallelism[task.node.number] == parallelism for task in entry.tasks)


def _entry(node: SourceNode, readers: dict[int, list[Reader]]) -> Entry | None:
    if not isinstance(node.source, DataFrameSource | ColumnSource) or len(readers[node.number]) != 1:
        return None
    schema = _arrow_schema(node.source)
    assign = readers[node.number][0][0]
    if not isinstance(assign, ChainNode) or not isinstance(assign.spec, AssignWatermarksSpec):
        return None
    if schema is None or assign.spec.on_error != "fail" or not _is_summarised(assign.spec.strategy, schema):
        return None
    tasks = [_task_input(reader, schema) for reader in readers[assign.number]]
    if not tasks or None in tasks:
        return None
    return Entry(node, assign, tuple(task for task in tasks if task is not None))


def _is_summarised(strategy: WatermarkStrategy, schema: pa.Schema) -> bool:
    """Whether the highest timestamp says all that the generator needs, and is in a column."""
    assigner = strategy.timestamp_assigner
    if not isinstance(assigner, ColumnTimestampAssigner) or strategy.max_future_skew is not None:
        return False
    if not isinstance(strategy.generator, Bounded | Ascending | NoWatermarks):
        return False
    index = schema.get_field_index(assigner.column)
    kind = schema.field(index).type if index >= 0 else None
    return kind is not None and (pa.types.is_timestamp(kind) or pa.types.is_int64(kind))


def _task_input(reader: Reader, schema: pa.Schema) -> TaskInput | None:
    node, _, _, stream = reader
    if not isinstance(node, TaskNode) or stream.side is not None or len(node.inputs) != 1:
        return None
    partitioning = node.inputs[0].partitioning
    if len(node.inputs[0].streams) != 1 or not isinstance(partitioning, KeyBy):
        return None
    selector = partitioning.selector
    if not isinstance(selector, FieldKey) or not all(isinstance(name, str) for name in selector.fields):
        return None
    names = tuple(str(name) for name in selector.fields)
    spec: Any = node.spec
    if is_columnar(spec, names, schema):
        return TaskInput(node, ColumnarSpec(spec, names, schema, make_rows))
    return TaskInput(node, RowSpec(names, make_rows)) if all(is_key(schema, name) for name in names) else None


def make_rows(names: Sequence[str]) -> Callable[..., Row]:
    """What makes a row of Spark's from values, as the elements of a DataFrame are."""
    fields = Row(*names)

    def make(*values: Any) -> Row:
        # What calling `fields` does, in a fraction of the time.
        row: Row = tuple.__new__(Row, values)
        row.__fields__ = fields
        return row

    return make


def struct_of(schema: pa.Schema) -> StructType:
    """Columns of Arrow's as Spark has them."""
    struct: StructType = from_arrow_schema(schema)
    return struct


def _arrow_schema(source: DataFrameSource | ColumnSource) -> pa.Schema | None:
    if isinstance(source, ColumnSource):
        return source.schema
    try:
        return to_arrow_schema(source.dataframe.schema, timezone="UTC")
    except Exception:
        # A column that Arrow does not carry; the source is read row by row, which says so.
        return None
