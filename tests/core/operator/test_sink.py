from __future__ import annotations

from typing import Any

import pytest

from tidegate.core.operator.sink import BatchId, Sink, SinkContext, SinkSpec
from tidegate.core.time.millis import MIN_TIME
from tidegate.errors import InvalidTypeError, UserCodeError
from tidegate.testing import OneInputHarness, Watermark, WatermarkStatus


class Diary(Sink):
    def __init__(self) -> None:
        self.lines: list[Any] = []

    def open(self, runtime_context: Any) -> None:
        self.lines.append("open")

    def write(self, value: Any, context: SinkContext) -> None:
        self.lines.append((value, context.timestamp(), context.current_watermark))

    def write_watermark(self, watermark: Watermark) -> None:
        self.lines.append(watermark)

    def flush(self) -> None:
        self.lines.append("flush")

    def close(self) -> None:
        self.lines.append("close")


def test_a_sink_sees_records_and_watermarks_in_order() -> None:
    diary = Diary()
    harness = OneInputHarness(SinkSpec(diary))
    harness.process_element("x")
    harness.process_watermark(5)
    harness.process_element("y", 6)
    harness.process_status(WatermarkStatus.IDLE)
    harness.close()
    assert diary.lines == ["open", ("x", None, MIN_TIME), Watermark(5), ("y", 6, 5), "close"]


def test_a_sink_remembers_the_watermark_after_a_restart() -> None:
    diary = Diary()
    harness = OneInputHarness(SinkSpec(diary))
    harness.process_watermark(5)
    harness.restore(harness.snapshot())
    harness.process_element("y", 6)
    assert diary.lines[-1] == ("y", 6, 5)


class OnlyWrite:
    """Not even a `Sink`: what has `write` may be one."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def write(self, value: Any, context: SinkContext) -> None:
        self.values.append(value)


def test_a_sink_needs_nothing_but_write() -> None:
    sink = OnlyWrite()
    harness = OneInputHarness(SinkSpec(sink))
    harness.process_element("x")
    harness.process_watermark(5)
    harness.close()
    assert sink.values == ["x"]


class Minimal(Sink):
    def write(self, value: Any, context: SinkContext) -> None:
        raise OSError("disk full")


def test_an_error_while_writing_names_the_operator_and_the_record() -> None:
    harness = OneInputHarness(SinkSpec(Minimal()))
    harness.process_watermark(5)
    with pytest.raises(UserCodeError, match="test: OSError: disk full, for the record 'x'") as caught:
        harness.process_element("x")
    assert isinstance(caught.value.__cause__, OSError)
    harness.close()


@pytest.mark.parametrize("sink", [None, "out.csv", Diary])
def test_what_is_no_sink_is_refused(sink: Any) -> None:
    with pytest.raises(InvalidTypeError, match="sink_to: expected a Sink object, got"):
        SinkSpec(sink)


class BatchDiary(Diary):
    def begin_batch(self, batch_id: int) -> None:
        self.lines.append(f"begin {batch_id}")

    def commit_batch(self, batch_id: int) -> None:
        self.lines.append(f"commit {batch_id}")


def test_a_batch_is_flushed_before_it_is_committed() -> None:
    diary = BatchDiary()
    operator = SinkSpec(diary).create()
    operator.begin_batch(BatchId(7))
    operator.commit_batch(BatchId(7))
    assert diary.lines == ["begin 7", "flush", "commit 7"]
