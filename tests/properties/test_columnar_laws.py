"""Windows on columns give what the window operator gives, for any input, however it is cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.core.columnar import session_windows, sliced_windows
from tidegate.core.columnar.columnar_operator import ORDER, SLICE, TIMESTAMP
from tidegate.core.columnar.columnar_windows import ColumnarSpec, is_columnar
from tidegate.core.columnar.groups import Groups
from tidegate.core.columnar.session_windows import SessionColumnsOperator
from tidegate.core.columnar.slices import Slices
from tidegate.core.columnar.table_cache import TableCache
from tidegate.core.operator.output_tag import OutputTag
from tidegate.core.window.window_operator import WindowSpec
from tidegate.datastream import StreamExecutionEnvironment
from tidegate.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from tidegate.errors import InvalidValueError
from tidegate.graph.nodes import OperatorNode
from tidegate.testing import OneInputHarness

LATE = OutputTag("late")
SCHEMA = pa.schema([("user", pa.string()), ("shop", pa.int64()), ("amount", pa.int64()), ("item", pa.string())])

ORDERED = {
    "first": agg.first("amount"),
    "last": agg.last("amount"),
    "lowest_item": agg.min_by("item", "amount"),
    "highest_item": agg.max_by("item", "amount"),
    "items": agg.collect_list("item"),
}

ms = st.integers(-30, 60)
elements = st.tuples(
    st.just("element"),
    st.fixed_dictionaries(
        {
            "user": st.sampled_from("abc"),
            "shop": st.integers(0, 1),
            "amount": st.none() | st.integers(-5, 5),
            "item": st.none() | st.sampled_from("xyz"),
        }
    ),
    ms,
)
watermarks = st.tuples(st.just("watermark"), ms)
cuts = st.sampled_from([("cut",), ("restart",)])
scripts = st.lists(st.one_of(elements, elements, elements, watermarks, cuts), max_size=40)
assigners = st.one_of(
    st.builds(TumblingEventTimeWindows, st.integers(1, 20), st.just(0)),
    st.builds(lambda size, slide: SlidingEventTimeWindows(size, slide), st.integers(1, 25), st.integers(1, 15)),
    st.builds(lambda gap: EventTimeSessionWindows(gap), st.integers(1, 12)),
)


def window_spec(assigner: Any, lateness: int, *, has_late_output: bool, has_order: bool = False) -> WindowSpec:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    stamped = env.from_collection([{}]).assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks())
    windowed = stamped.key_by(["user", "shop"]).window(assigner).allowed_lateness(lateness)
    if has_late_output:
        windowed = windowed.side_output_late_data(LATE)
    stream = windowed.agg(
        **(ORDERED if has_order else {}),
        count=agg.count(),
        valid=agg.count("amount"),
        total=agg.sum("amount"),
        lowest=agg.min("amount"),
        highest=agg.max("amount"),
        mean=agg.mean("amount"),
        deviation=agg.stddev("amount"),
        distinct=agg.count_distinct("amount"),
    )
    node = stream._node("test")
    assert isinstance(node, OperatorNode)
    assert isinstance(node.spec, WindowSpec)
    return node.spec


def harness(spec: Any) -> OneInputHarness:
    return OneInputHarness(spec, key_selector=lambda value: (value["user"], value["shop"]))


def seen(row: Any) -> tuple[Any, ...]:
    """A result that can be counted; a deviation is exact only up to the order of additions."""
    return tuple(
        round(value, 9) if isinstance(value, float) else tuple(value) if isinstance(value, list) else value
        for value in ([row[name] for name in SCHEMA.names] if isinstance(row, dict) else row)
    )


class Run:
    """A script through a harness: what came out before each watermark, and the counters at the end."""

    def __init__(self, spec: Any) -> None:
        self.harness = harness(spec)
        self.records: list[Any] = []
        self.late: list[Any] = []
        self.segments: list[Any] = []

    def play(self, script: list[Any]) -> Any:
        watermark = -(2**63)
        for step in [*script, ("watermark", 2**63 - 1)]:
            if step[0] == "element":
                self.element(step[1], step[2])
            elif step[0] == "watermark" and step[1] > watermark:
                watermark = step[1]
                self.progress(watermark)
            elif step[0] == "cut":
                self.cut()
            elif step[0] == "restart":
                self.restart()
        names = ("num_late_records_dropped", "num_late_records_to_side_output", "num_records_in_no_window")
        return self.segments, {name: self.harness.metrics().get(name, 0) for name in names}

    def element(self, value: Any, timestamp: int) -> None:
        self.harness.process_element(value, timestamp)

    def progress(self, watermark: int) -> None:
        self.cut()
        self._take()
        self.segments.append((self._seen(self.records), [tuple(record) for record in self.late]))
        self.records, self.late = [], []
        self.harness.process_watermark(watermark)
        self._take()
        self.segments.append((watermark, Counter((seen(r.value), r.timestamp) for r in self.records)))
        self.records = []

    def _seen(self, records: list[Any]) -> Any:
        """Records that fired one by one, in order."""
        return [(seen(record.value), record.timestamp) for record in records]

    def cut(self) -> None:
        self.harness._operator.end_batch()

    def restart(self) -> None:
        state = self.harness.snapshot()
        self._take()
        self.harness.restore(state)

    def _take(self) -> None:
        self.records += self.harness.outputs()
        self.late += self.harness.side_outputs(LATE)


class PartialRun(Run):
    """Elements go in as partial aggregates, as after pre-aggregation."""

    def __init__(self, spec: ColumnarSpec) -> None:
        super().__init__(spec)
        self._spec = spec
        self._slices = Slices.of(spec.window.assigner)

    def element(self, value: Any, timestamp: int) -> None:
        table = pa.Table.from_pylist([value], schema=SCHEMA)
        start = self._slices.starts(np.array([timestamp], np.int64))
        groups, _ = Groups.of(table, ["user", "shop"]).split(SLICE, start)
        operator: Any = self.harness._operator
        operator.accept_partials(self._spec.partials.reduce(table, groups))


class RecordRun(Run):
    """Elements go in as columns of records, in tables of one."""

    _order = 0

    def element(self, value: Any, timestamp: int) -> None:
        self._order += 1
        table = pa.Table.from_pylist([value], schema=SCHEMA)
        table = table.append_column(TIMESTAMP, pa.array([timestamp], pa.int64()))
        operator: Any = self.harness._operator
        operator.accept_records(table.append_column(ORDER, pa.array([self._order], pa.int64())))


def dicts(names: Sequence[str]) -> Callable[..., Any]:
    return lambda *values: dict(zip(names, values, strict=True))


@pytest.fixture(autouse=True, params=["usual limits", "tiny limits"])
def limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Panes of sessions are narrow; tiny limits let slices be compacted and windows be merged in pieces."""
    monkeypatch.setattr(SessionColumnsOperator, "min_width", 1)
    if request.param == "tiny limits":
        monkeypatch.setattr(sliced_windows, "MAX_ROWS", 3)
        monkeypatch.setattr(sliced_windows, "MAX_TABLES", 2)
        monkeypatch.setattr(session_windows, "MAX_TABLES", 2)
        monkeypatch.setattr(TableCache, "put", lambda cache, name, stored: None)


@pytest.mark.filterwarnings("ignore:windows of .* leave gaps")
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scripts, assigners, st.sampled_from([0, 3, 12]), st.booleans(), st.booleans())
def test_windows_on_columns_are_those_of_the_window_operator(
    script: list[Any], assigner: Any, lateness: int, has_late_output: bool, has_order: bool
) -> None:
    rows = window_spec(assigner, lateness, has_late_output=has_late_output, has_order=has_order)
    if has_order and isinstance(assigner, EventTimeSessionWindows):
        assert not is_columnar(rows, ("user", "shop"), SCHEMA)
        return
    assert is_columnar(rows, ("user", "shop"), SCHEMA)
    columns = ColumnarSpec(rows, ("user", "shop"), SCHEMA, dicts)
    expected = Run(rows).play(script)
    assert Run(columns).play(script) == expected
    assert RecordRun(columns).play(script) == expected
    if not columns.needs_records:
        assert PartialRun(columns).play(script) == expected


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    scripts,
    st.builds(
        lambda size, slide: SlidingEventTimeWindows(size, min(size, slide)), st.integers(1, 25), st.integers(1, 15)
    ),
    st.sampled_from([0, 12]),
    st.sampled_from(["sum", "min", "max", "min_by", "max_by"]),
)
def test_windows_that_keep_a_record_are_those_of_the_window_operator(
    script: list[Any], assigner: Any, lateness: int, how: str
) -> None:
    script = [step for step in script if step[0] != "element" or step[1]["amount"] is not None]
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    stamped = env.from_collection([{}]).assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks())
    windowed = stamped.key_by(["user", "shop"]).window(assigner).allowed_lateness(lateness)
    rows: Any = getattr(windowed, how)("amount")._node("test").spec
    assert is_columnar(rows, ("user", "shop"), SCHEMA)
    columns = ColumnarSpec(rows, ("user", "shop"), SCHEMA, dicts)
    expected = Run(rows).play(script)
    assert Run(columns).play(script) == expected
    assert RecordRun(columns).play(script) == expected


def test_a_record_without_the_field_is_refused_where_it_must_be_reduced() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    stamped = env.from_collection([{}]).assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks())
    node: Any = stamped.key_by(["user", "shop"]).window(TumblingEventTimeWindows(10)).sum("amount")._node("test")
    rows = node.spec
    run = Run(ColumnarSpec(rows, ("user", "shop"), SCHEMA, dicts))
    nothing = {"user": "a", "shop": 0, "amount": None, "item": None}
    with pytest.raises(InvalidValueError, match="the field is null"):
        run.play([("element", nothing, 0), ("element", nothing | {"amount": 1}, 1)])


def test_sessions_whose_times_are_very_far_apart_are_merged_by_key() -> None:
    far = 2**58
    script = [
        ("element", {"user": user, "shop": shop, "amount": 1}, time)
        for user in "abc"
        for shop in range(30)
        for time in (0, 3, far, -far)
    ]
    rows = window_spec(EventTimeSessionWindows(5), 0, has_late_output=False)
    columns = ColumnarSpec(rows, ("user", "shop"), SCHEMA, dicts)
    assert Run(columns).play(script) == Run(rows).play(script)


def test_sessions_cost_what_is_touched_and_not_what_is_open() -> None:
    def rows_stored_by_a_batch(num_open: int) -> list[int]:
        run = RecordRun(ColumnarSpec(spec, ("user", "shop"), SCHEMA, dicts))
        operator: Any = run.harness._operator
        for number in range(num_open):
            run.element({"user": f"u{number}", "shop": 0, "amount": 1, "item": None}, 1_000 + number % 500)
        run.progress(1_500)
        found = []
        for step in range(3):
            before = sum(map(operator.log.rows, operator.log.panes))
            run.element({"user": "u7", "shop": 0, "amount": 1, "item": None}, 1_600 + 100 * step)
            run.element({"user": f"new {step}", "shop": 0, "amount": 1, "item": None}, 1_600 + 100 * step)
            run.progress(1_600 + 100 * step)
            found.append(sum(map(operator.log.rows, operator.log.panes)) - before)
        assert run.harness.metrics()["num_late_records_dropped"] == 0
        return found

    spec = window_spec(EventTimeSessionWindows(10_000), 0, has_late_output=False)
    assert rows_stored_by_a_batch(20) == rows_stored_by_a_batch(400) == [2, 2, 2]
