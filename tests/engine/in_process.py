"""Programs over a DataFrame on the in-process runner: batches of its records in, the sinks' elements out. No JVM."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from tidegate.core.columnar.columnar_operator import CHANNEL
from tidegate.engine.column_intake import ColumnIntake
from tidegate.engine.messages import Ended, Message, Target
from tidegate.engine.plan import PhysicalPlan, Reading
from tidegate.engine.record_columns import SEQUENCE
from tidegate.engine.row_intake import RowIntake
from tidegate.engine.runner import InProcessRunner
from tidegate.testing import ManualClock


class Frame:
    """As much of a streaming DataFrame as a program looks at before it runs."""

    isStreaming = True  # noqa: N815

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = from_arrow_schema(schema)
        self.columns = self.schema.names
        self.dtypes = [(field.name, field.dataType.simpleString()) for field in self.schema]


class InProcessJob:
    """Runs a plan batch by batch. The first source is the DataFrame."""

    def __init__(self, plan: PhysicalPlan) -> None:
        self.plan = plan
        self._clock = ManualClock()
        self.runner = InProcessRunner(plan, self._clock)
        self.runner.sinks.open()

    def batch(self, now: int, parts: Sequence[pa.RecordBatch] = (), *, is_end: bool = False) -> None:
        """One micro-batch; every part is read by a task of its own. Records have `CHANNEL` and `SEQUENCE`."""
        self._clock.advance_to(now)
        self.runner.run_batch(read(self.plan, parts, is_end=is_end))

    def metric(self, name: str) -> int:
        return sum(values.get(name, 0) for found in self.runner.metrics().values() for values in found)


def read(plan: PhysicalPlan, parts: Sequence[pa.RecordBatch], *, is_end: bool) -> dict[Target, list[Message]]:
    """What the tasks that read the first source send."""
    source = next(iter(plan.sources))
    messages: dict[Target, list[Message]] = defaultdict(list)
    for part in parts:
        reader: Any = (
            ColumnIntake(plan, source, has_sequence=True)
            if source.reading is Reading.AS_COLUMNS
            else RowIntake(plan, source)
        )
        for sent in reader(iter([part])):
            for target, given in sent.items():
                messages[target] += given
    if is_end:
        for subtask in range(plan.parallelism):
            messages[Target(0, subtask)].append(Ended())
    return messages


def records(rows: Sequence[dict[str, Any]], schema_of_records: pa.Schema) -> pa.RecordBatch:
    """Records with their channel and sequence, as a source hands them over: files give channels as dictionaries."""
    schema = schema_of_records.append(pa.field(CHANNEL, pa.string())).append(pa.field(SEQUENCE, pa.int64()))
    batch = pa.RecordBatch.from_pylist(list(rows), schema=schema)
    if len(rows) % 2:
        return batch
    place = schema.get_field_index(CHANNEL)
    return batch.set_column(place, CHANNEL, batch.column(place).dictionary_encode())
