"""What leaves a job: sinks with one watermark, printed lines, metrics, and rows of one type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.runtimes.conftest import Runtime

from tidegate.common import Row, WatermarkStrategy
from tidegate.core.time.millis import MAX_TIME
from tidegate.datastream import CollectSink, MapFunction, Sink
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.functions import KeyedProcessFunction, RuntimeContext
from tidegate.datastream.sources import NumberSequenceSource

LAST = 40


class Channels(NumberSequenceSource):
    """Numbers in two channels, the second far behind the first."""

    def read(self, channel: str) -> Any:
        return iter(range(0, 2 * LAST, 4) if channel == "0" else range(0, LAST, 4))


class Witness(Sink):
    """Notes every call; what is not shared notes in the list of its subtask."""

    calls: Sequence[list[tuple[str, int]]] = ([], [], [])

    def open(self, runtime_context: RuntimeContext) -> None:
        self._place = (
            f"{runtime_context.get_index_of_this_subtask()}/{runtime_context.get_number_of_parallel_subtasks()}"
        )
        self._calls = type(self).calls[runtime_context.get_index_of_this_subtask()]

    def write(self, value: Any, context: Any) -> None:
        self._calls.append(("record", value))

    def write_watermark(self, watermark: Any) -> None:
        self._calls.append(("watermark", watermark.timestamp))


class Shared(Witness):
    calls = ([],)


class Separate(Witness):
    is_shared = False
    calls = ([], [], [])


class Same(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


def check_time(calls: list[tuple[str, int]]) -> None:
    """Watermarks rise, come behind what they cover, and the last of them ends time, once and last."""
    watermarks = [value for kind, value in calls if kind == "watermark"]
    assert watermarks == sorted(set(watermarks))
    assert calls[-1] == ("watermark", MAX_TIME)
    highest = -1
    for kind, value in calls:
        if kind == "watermark":
            highest = value
        else:
            assert value > highest


def test_watermarks_of_sinks_are_combined_over_their_channels(
    runtime: Runtime, capfd: pytest.CaptureFixture[str]
) -> None:
    for sink in (Shared, Separate):
        for calls in sink.calls:
            calls.clear()
    env = runtime.environment(parallelism=3)
    strategy = WatermarkStrategy.for_punctuated_timestamps().with_timestamp_assigner(lambda value, _: value)
    stream = env.from_source(Channels(0, LAST, 2), strategy, "numbers")
    moved = stream.key_by(lambda value: value).process(Same())
    moved.sink_to(Shared()).uid("shared")
    moved.sink_to(Separate()).uid("separate")
    moved.print("out")
    job = env.execute_async("sinks")
    job.wait(120)
    expected = sorted([*range(0, 2 * LAST, 4), *range(0, LAST, 4)])
    check_time(Shared.calls[0])
    assert sorted(value for kind, value in Shared.calls[0] if kind == "record") == expected
    for calls in Separate.calls:
        check_time(calls)
    separate = [value for calls in Separate.calls for kind, value in calls if kind == "record"]
    assert sorted(separate) == expected
    assert sum(1 for calls in Separate.calls if len(calls) > 1) > 1
    # What a sink measures is where the metrics of all others are.
    metrics = job.metrics()
    assert len(metrics["shared"]) == 1
    assert len(metrics["separate"]) == 3
    lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith("out")]
    assert sorted(int(line.partition(" ")[2]) for line in lines) == expected
    assert {line.partition(" ")[0] for line in lines} <= {"out:1>", "out:2>", "out:3>"}
    assert len({line.partition(" ")[0] for line in lines}) > 1


class Inspect(MapFunction):
    """Everything that one can do with a row."""

    def map(self, value: Any) -> Any:
        fields = value.user, value["user"], value[0], tuple(value), value.as_dict(), str(value)
        return type(value).__module__, type(value).__qualname__, *fields, value == Row(user="ann", ts=1)


def test_rows_of_files_and_frames_are_of_one_type(runtime: Runtime, tmp_path: Path) -> None:
    tmp_path.joinpath("in").mkdir()
    tmp_path.joinpath("in", "rows.csv").write_text("user,ts\nann,1\n")
    env = runtime.environment()
    source = FileSource.csv(str(tmp_path / "in"), "user string, ts long")
    found = {name: CollectSink() for name in ("file", "frame")}
    env.from_source(source, WatermarkStrategy.no_watermarks(), "rows").map(Inspect()).sink_to(found["file"])
    if runtime.is_spark:
        reader = runtime.spark.readStream.schema("user string, ts long").option("header", True)
        frame = reader.csv(str(tmp_path / "in"))
        env.from_dataframe(frame, bounded=True).map(Inspect()).sink_to(found["frame"])
    env.execute("rows")
    expected = (Row.__module__, Row.__qualname__, "ann", "ann", "ann", ("ann", 1), {"user": "ann", "ts": 1})
    for sink in found.values():
        for row in sink.results:
            assert row[:7] == expected
            assert row[8] is True
    assert len(found["file"].results) == 1
    assert len(found["frame"].results) == (1 if runtime.is_spark else 0)
