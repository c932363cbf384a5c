"""Columns on their way into the tasks of a subtask: what a batch brings of sources that are read as columns."""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa

from tidegate.core.columnar.columnar_operator import CHANNEL, ORDER, TIMESTAMP, ColumnarOperator
from tidegate.core.source.column_source import ColumnSource
from tidegate.core.watermark.assign_watermarks import AssignWatermarksOperator
from tidegate.engine.channels import source_channel
from tidegate.engine.messages import Partials, Records, Summary
from tidegate.engine.order import OrderKeeper
from tidegate.engine.plan import Edge, PhysicalPlan, PlannedLane, PlannedSource, SentAsColumns
from tidegate.engine.record_columns import python_values, with_order
from tidegate.engine.wiring import Wiring


class ColumnInput:
    """Gives columns to the tasks of one subtask, for one batch.

    Summaries come first: they say where each channel begins in the batch, and move its generator.
    """

    def __init__(self, plan: PhysicalPlan, wiring: Wiring) -> None:
        self._plan = plan
        self._wiring = wiring
        self._firsts: dict[str, dict[str, int]] = defaultdict(dict)
        self._waiting: dict[int, list[pa.Table]] = defaultdict(list)

    def take_summary(self, summary: Summary) -> None:
        """A part of the batch on a channel. The batch begins where the first of its parts does."""
        source = self._plan.by_uid[summary.port]
        assert isinstance(source, PlannedSource)
        self._wiring.join_source(source, summary.channel)
        firsts = self._firsts[source.uid]
        if summary.first is not None:
            firsts[summary.channel] = min(summary.first, firsts.get(summary.channel, summary.first))
        for _, reader in self._plan.behind(source):
            operator = self._wiring.lanes[reader.number][source_channel(source, summary.channel)]
            assert isinstance(operator, AssignWatermarksOperator)
            operator.machine.process_highest(summary.highest)

    def take(self, message: Records | Partials) -> None:
        """Columns for a task, behind the summaries of their batch."""
        assert isinstance(message.port, int)
        edge = self._plan.edges[message.port]
        task = self._wiring.tasks[edge.target]
        if isinstance(message, Partials):
            assert isinstance(task.operator, ColumnarOperator)
            task.operator.accept_partials(message.table)
            return
        source = self._source_of(edge)
        table = with_order(
            message.table, self._firsts[source.uid], is_common_order=source.source.ordered_across_channels
        )
        if isinstance(task.operator, ColumnarOperator):
            task.operator.accept_records(table)
        else:
            self._waiting[edge.number].append(table)

    def deliver_elements(self, order: OrderKeeper) -> None:
        """Give the records to those tasks that take elements one by one, in order."""
        for number, tables in self._waiting.items():
            edge = self._plan.edges[number]
            accept = self._wiring.tasks[edge.target].accept(edge.input_index)
            whole = pa.concat_tables(tables).sort_by([(ORDER, "ascending"), (CHANNEL, "ascending")])
            places = zip(*(whole[name].to_pylist() for name in (TIMESTAMP, ORDER, CHANNEL)), strict=True)
            names = [name for name in whole.column_names if name not in (TIMESTAMP, ORDER, CHANNEL)]
            columns = {name: python_values(whole[name]) for name in names}
            source = self._source_of(edge).source
            assert isinstance(source, ColumnSource)
            assert isinstance(edge.travel, SentAsColumns)
            keys = [columns[name] for name in edge.travel.key_names]
            elements = map(source.make_elements(names), *columns.values())
            for key, element, (time, position, channel) in zip(
                keys[0] if len(keys) == 1 else zip(*keys, strict=True), elements, places, strict=True
            ):
                order.at((position, channel))
                accept(key, element, time)
        self._waiting.clear()

    def _source_of(self, edge: Edge) -> PlannedSource:
        """The source behind the operator that gives its records their time."""
        lane = self._plan.by_number[edge.source]
        assert isinstance(lane, PlannedLane)
        source = self._plan.by_number[lane.inputs[0][0].source]
        assert isinstance(source, PlannedSource)
        return source
