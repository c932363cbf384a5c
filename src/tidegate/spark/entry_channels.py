"""The channels of entries in one subtask: copies of their generators, whose progress goes straight into the valves."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidegate.core.columnar.columnar_operator import CHANNEL, ORDER, TIMESTAMP, ColumnarOperator
from tidegate.core.columnar.columnar_windows import ColumnarSpec
from tidegate.core.columnar.pane_log import decode_table
from tidegate.core.operator.operator import TaskOperator
from tidegate.core.watermark.assign_watermarks import AssignWatermarksOperator
from tidegate.graph.nodes import Node, TaskNode
from tidegate.spark.columns import python_values, with_order
from tidegate.spark.packing import Columns, Item, Join, Summary
from tidegate.spark.row_spec import RowSpec
from tidegate.spark.stage_options import ENTRY_STAGE, StageOptions

if TYPE_CHECKING:
    from tidegate.spark.stage import Stage


class EntryChannels:
    """What a stage does for the entries that end in it; in other stages there are none."""

    def __init__(self, stage: Stage, options: StageOptions, number: int) -> None:
        self._stage = stage
        self._graph = options.plan.graph
        entries = options.entries if number == ENTRY_STAGE else ()
        self.nodes: list[Node] = [node for entry in entries for node in (entry.source, entry.assign)]
        inputs = [task for entry in entries for task in entry.tasks]
        self.specs: dict[int, Any] = {t.node.number: t.spec for t in inputs if isinstance(t.spec, ColumnarSpec)}
        """What the windows behind the entries do on columns, by the number of their node."""
        self._rows = {t.node.number: (t.spec, list[pa.Table]()) for t in inputs if isinstance(t.spec, RowSpec)}
        self._numbers = {node.number for node in self.nodes}
        self._source_of = {task.node.number: entry.source for entry in entries for task in entry.tasks}
        self._firsts: dict[str, dict[str, int]] = defaultdict(dict)

    def __contains__(self, number: int) -> bool:
        """Whether a node is part of an entry."""
        return number in self._numbers

    def let_join(self, node: Node, channel: str) -> None:
        """The first sign of a channel: the tasks behind it, which are in this subtask, count it from now on."""
        for reader, input_index, position, _ in self._stage.readers(node):
            if isinstance(reader, TaskNode):
                self._stage.deliver_progress(reader, input_index, f"{position}:{channel}", Join())
            else:
                self.let_join(reader, channel)

    def take_summary(self, node: Node, channel: str, summary: Summary) -> None:
        """A part of the batch on a channel. The batch begins where the first of its parts does."""
        firsts = self._firsts[self._graph.uid(node)]
        if summary.first is not None:
            firsts[channel] = min(summary.first, firsts.get(channel, summary.first))
        for reader, _, _, _ in self._stage.readers(node):
            operator = self._stage.operator(reader, channel)
            assert isinstance(operator, AssignWatermarksOperator)
            operator.machine.process_highest(summary.highest)

    def take_columns(self, operator: TaskOperator, node: TaskNode, item: Item) -> None:
        """Elements for a task, all of them behind the summaries of their batch."""
        assert isinstance(item.progress, Columns)
        table = decode_table(item.value)
        if item.progress.are_records:
            source: Any = self._source_of[node.number]
            firsts = self._firsts[self._graph.uid(source)]
            table = with_order(table, firsts, is_common_order=source.source.ordered_across_channels)
        if node.number in self._rows:
            self._rows[node.number][1].append(table)
            return
        assert isinstance(operator, ColumnarOperator)
        if item.progress.are_records:
            operator.accept_records(table)
        else:
            operator.accept_partials(table)

    def deliver_rows(self) -> None:
        """Give the elements that came as columns to the tasks that take them one by one, in order."""
        for number, (spec, tables) in self._rows.items():
            if not tables:
                continue
            (accept,) = self._stage.tasks[number].operator.inputs()
            whole = pa.concat_tables(tables).sort_by([(ORDER, "ascending"), (CHANNEL, "ascending")])
            tables.clear()
            places = zip(*(whole[name].to_pylist() for name in (TIMESTAMP, ORDER, CHANNEL)), strict=True)
            names = [name for name in whole.column_names if name not in (TIMESTAMP, ORDER, CHANNEL)]
            columns = {name: python_values(whole[name]) for name in names}
            keys = [columns[name] for name in spec.key_names]
            rows = map(spec.make_elements(names), *columns.values())
            for key, row, (time, order, channel) in zip(
                keys[0] if len(keys) == 1 else zip(*keys, strict=True), rows, places, strict=True
            ):
                self._stage.at((order, channel))
                accept(key, row, time)
