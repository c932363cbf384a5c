"""The channels of entries in one subtask: copies of their generators, whose progress goes straight into the valves."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from tidegate.core.assign_watermarks import AssignWatermarksOperator
from tidegate.core.columnar_operator import ColumnarOperator
from tidegate.core.operator import TaskOperator
from tidegate.core.pane_log import decode_table
from tidegate.graph.nodes import Node, TaskNode
from tidegate.spark.columns import with_order
from tidegate.spark.packing import Columns, Item, Join, Summary
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
        self.specs: dict[int, Any] = {window.node.number: window.spec for entry in entries for window in entry.windows}
        """What the windows behind the entries do on columns, by the number of their node."""
        self._numbers = {node.number for node in self.nodes}
        self._source_of = {window.node.number: entry.source for entry in entries for window in entry.windows}
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
        """Elements for a window operation, all of them behind the summaries of their batch."""
        assert isinstance(operator, ColumnarOperator)
        assert isinstance(item.progress, Columns)
        table = decode_table(item.value)
        if not item.progress.are_records:
            operator.accept_partials(table)
            return
        source: Any = self._source_of[node.number]
        firsts = self._firsts[self._graph.uid(source)]
        operator.accept_records(with_order(table, firsts, is_common_order=source.source.ordered_across_channels))
