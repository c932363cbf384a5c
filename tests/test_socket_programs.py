"""Whole programs fed from a real socket: the one of the README and an older one with a periodic assigner."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tidegate.common import Duration, Time, WatermarkStrategy
from tidegate.common.watermark_strategy import AssignerWithPeriodicWatermarks, Watermark
from tidegate.datastream import OutputTag, StreamExecutionEnvironment, TimeCharacteristic
from tidegate.datastream.window import TumblingEventTimeWindows


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def runtime(request: pytest.FixtureRequest) -> Any:
    return request.param


@contextmanager
def serve(lines: Iterable[str]) -> Iterator[int]:
    """A server that sends the lines to its first client and closes."""
    server = socket.create_server(("127.0.0.1", 0))

    def send() -> None:
        connection, _ = server.accept()
        with connection:
            for line in lines:
                connection.sendall(f"{line}\n".encode())

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        thread.join(5)
        server.close()


def test_word_counts_of_a_socket_are_printed_by_window(capsys: pytest.CaptureFixture[str], runtime: Any) -> None:
    lines = ["1000 tide", "", "2000 gate", "3000 tide", "61000 tide", "   "]
    with serve(lines) as port:
        env = StreamExecutionEnvironment.get_execution_environment(runtime=runtime)
        words = env.socket_text_stream("127.0.0.1", port).filter(str.strip)
        late = OutputTag("late")
        counts = (
            words.assign_timestamps_and_watermarks(
                WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
                .with_timestamp_assigner(lambda line, _: int(line.split()[0]))
                .with_idleness(Duration.of_minutes(1))
            )
            .map(lambda line: (line.split()[1], 1))
            .key_by(lambda pair: pair[0])
            .window(TumblingEventTimeWindows.of(Time.seconds(60)))
            .allowed_lateness(10_000)
            .side_output_late_data(late)
            .sum(1)
        )
        counts.print()
        counts.get_side_output(late).print()
        env.execute("word counts")
    printed = capsys.readouterr().out.splitlines()
    assert sorted(printed[:2]) == ["('gate', 1)", "('tide', 2)"]
    assert printed[2:] == ["('tide', 1)"]


class BoundedOutOfOrderness(AssignerWithPeriodicWatermarks):
    """The highest timestamp so far, minus ten seconds."""

    def __init__(self) -> None:
        self.max_event_timestamp = 0

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        timestamp = int(value.split()[0])
        self.max_event_timestamp = max(timestamp, self.max_event_timestamp)
        return timestamp

    def get_current_watermark(self) -> Watermark:
        return Watermark(self.max_event_timestamp - 10_000)


def test_an_older_program_with_a_periodic_assigner_runs_as_it_stands(
    capsys: pytest.CaptureFixture[str], runtime: Any
) -> None:
    with serve(["1000 a", "1000 a", "2000 b", "", "70000 a"]) as port:
        env = StreamExecutionEnvironment.get_execution_environment(runtime=runtime)
        env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
        env.set_parallelism(4)
        env.get_config().set_auto_watermark_interval(10_000)
        (
            env.socket_text_stream("127.0.0.1", port)
            .filter(lambda line: bool(line.strip()))
            .assign_timestamps_and_watermarks(BoundedOutOfOrderness())
            .map(lambda line: (line, 1))
            .key_by(0)
            .time_window(Time.seconds(60))
            .sum(1)
            .print()
        )
        env.execute("WaterMark Test Stream")
    printed = [line.split("> ")[-1] for line in capsys.readouterr().out.splitlines()]
    assert sorted(printed) == ["('1000 a', 2)", "('2000 b', 1)", "('70000 a', 1)"]


def test_nobody_listening_is_an_error_that_says_what_to_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    env.socket_text_stream("127.0.0.1", port).print()
    with pytest.raises(RuntimeError, match=r"cannot connect to 127\.0\.0\.1.*start the server first"):
        env.execute()
