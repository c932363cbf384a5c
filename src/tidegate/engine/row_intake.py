"""What reads a source row by row: records become messages for the subtasks that hold their channels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tidegate.core.columnar.columnar_operator import CHANNEL
from tidegate.core.source.column_source import RECORD_TIME, ColumnSource
from tidegate.engine.channels import subtask_of_channel
from tidegate.engine.messages import Element, Message, Target, Tick
from tidegate.engine.plan import PhysicalPlan, PlannedSource
from tidegate.engine.record_columns import SEQUENCE, no_place
from tidegate.errors import InvalidValueError


class RowIntake:
    """Turns batches of records into messages. It is called once for each partition of each batch.

    Records come with `CHANNEL` and `SEQUENCE`, null without a sequence; `place_columns` are those that both were made
    of, for the error that names them. `RECORD_TIME`, if it is there, is the timestamp of a record. Elements are what
    the source makes of records; those that are None are left out.
    """

    def __init__(
        self, plan: PhysicalPlan, source: PlannedSource, *, has_sequence: bool = True, place_columns: Sequence[str] = ()
    ) -> None:
        self._source = source
        self._has_sequence = has_sequence
        self._place_columns = tuple(place_columns)
        self._ticks = plan.parallelism if plan.needs_clock else 0

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Mapping[Target, list[Message]]]:
        position = 0
        if self._ticks:
            yield {Target(0, subtask): [Tick()] for subtask in range(self._ticks)}
        is_common_order = self._source.source.ordered_across_channels
        port = self._source.uid
        targets: dict[str, Target] = {}
        for batch in batches:
            messages: dict[Target, list[Message]] = defaultdict(list)
            for channel, sequence, timestamp, element in self._records(batch):
                position += 1
                number = sequence if self._has_sequence else position
                order = (number, "") if is_common_order else (number, channel)
                target = targets.get(channel)
                if target is None:
                    target = targets[channel] = Target(0, subtask_of_channel(self._source, channel))
                messages[target].append(Element(order, port, channel, None, element, timestamp))
            if messages:
                yield messages

    def _records(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, Any, int | None, Any]]:
        """The elements with their channel, sequence and timestamp."""
        source = self._source.source
        assert isinstance(source, ColumnSource)
        names = [name for name in batch.schema.names if name not in (CHANNEL, SEQUENCE, RECORD_TIME)]
        make = source.make_elements(names)
        columns = [batch.column(name).to_pylist() for name in (CHANNEL, SEQUENCE, *names)]
        has_times = RECORD_TIME in batch.schema.names
        times = batch.column(RECORD_TIME).to_pylist() if has_times else [None] * batch.num_rows
        for timestamp, channel, sequence, *values in zip(times, *columns, strict=True):
            if channel is None or (self._has_sequence and sequence is None):
                empty = [name for name, value in zip(names, values, strict=True) if value is None]
                raise self._no_place(empty, make(*values))
            element = make(*values)
            if element is not None:
                yield channel, sequence, timestamp, element

    def _no_place(self, empty: Sequence[str], element: Any) -> InvalidValueError:
        names = ", ".join(repr(name) for name in self._place_columns if name in empty)
        return no_place(self._source.name, f"column {names} is null in {element!r}")
