"""Which sources are read as columns, straight into the keyed tasks behind them.

A generator that must see every record needs a subtask that holds its channel. The built-in ones need only the highest
timestamp: so whoever reads sends every subtask a summary for each channel, and every subtask keeps the same copies of
the generators, their idle countdowns and the valve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tidegate.core.columnar.columnar_windows import ColumnarSpec, is_key
from tidegate.core.function.fields import FieldKey
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.source.column_source import ColumnSource
from tidegate.core.watermark.assign_watermarks import AssignWatermarksSpec
from tidegate.core.watermark.strategy import Ascending, Bounded, NoWatermarks, WatermarkStrategy
from tidegate.core.watermark.timestamps import ColumnTimestampAssigner
from tidegate.graph.nodes import Automatic, Connection, Forward, KeyBy, Node, OperatorNode, SourceNode

Readers = Mapping[int, Sequence[tuple[Node, Connection]]]
"""Who reads each node, and by which connection."""


@dataclass(frozen=True, slots=True)
class ColumnTask:
    """A keyed task that takes columns: the names of its key, and the operator that takes them.

    The operator is the program's own where that must see elements one by one: then columns become elements in the
    subtask.
    """

    key_names: tuple[str, ...]
    spec: OperatorSpec

    @property
    def is_on_columns(self) -> bool:
        return isinstance(self.spec, ColumnarSpec)

    @property
    def takes_partials(self) -> bool:
        """Whether partial aggregates say all that the operator needs."""
        return isinstance(self.spec, ColumnarSpec) and not self.spec.needs_records


def column_tasks(source: SourceNode, readers: Readers) -> dict[int, ColumnTask] | None:
    """The tasks behind a source that can be read as columns, by their number; None if it cannot."""
    if not isinstance(source.source, ColumnSource) or source.source.schema is None:
        return None
    schema = source.source.schema
    if len(readers[source.number]) != 1:
        return None
    assign, connection = readers[source.number][0]
    if not isinstance(connection.partitioning, Automatic | Forward) or not _is_summarised(assign, schema):
        return None
    tasks: dict[int, ColumnTask] = {}
    for reader, way in readers[assign.number]:
        task = _column_task(reader, way, source.source, schema)
        if task is None:
            return None
        tasks[reader.number] = task
    return tasks or None


def _is_summarised(node: Node, schema: pa.Schema) -> bool:
    """Whether a node gives records their time and their watermarks, and needs the highest timestamp only."""
    if not isinstance(node, OperatorNode) or not isinstance(node.spec, AssignWatermarksSpec):
        return False
    return node.spec.on_error == "fail" and _needs_highest_only(node.spec.strategy, schema)


def _needs_highest_only(strategy: WatermarkStrategy, schema: pa.Schema) -> bool:
    assigner = strategy.timestamp_assigner
    if not isinstance(assigner, ColumnTimestampAssigner) or strategy.max_future_skew is not None:
        return False
    if not isinstance(strategy.generator, Bounded | Ascending | NoWatermarks):
        return False
    index = schema.get_field_index(assigner.column)
    kind = schema.field(index).type if index >= 0 else None
    return kind is not None and (pa.types.is_timestamp(kind) or pa.types.is_int64(kind))


def _column_task(node: Node, connection: Connection, source: ColumnSource, schema: pa.Schema) -> ColumnTask | None:
    if not isinstance(node, OperatorNode) or connection.stream.side is not None or len(node.inputs) != 1:
        return None
    if len(node.inputs[0].connections) != 1 or not isinstance(connection.partitioning, KeyBy):
        return None
    selector = connection.partitioning.selector
    if not isinstance(selector, FieldKey) or not all(isinstance(name, str) for name in selector.fields):
        return None
    names = tuple(str(name) for name in selector.fields)
    if not all(is_key(schema, name) for name in names):
        return None
    on_columns = ColumnarSpec.of(node.spec, names, schema, source.make_elements)
    return ColumnTask(names, node.spec if on_columns is None else on_columns)
