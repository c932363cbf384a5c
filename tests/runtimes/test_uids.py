"""Users' uids share nothing with names of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.runtimes.conftest import Runtime, run_until

from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.functions import ReduceFunction

NAMES = ("sources", "channels", "run_id", "run", "subtask", "stores", "formats", "sinks", "operator", "")


class Add(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + value2[1]


def test_any_name_may_be_a_uid(runtime: Runtime, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()

    def run(expected: int) -> list[CollectSink]:
        env = runtime.environment(tmp_path / "checkpoint")
        source = FileSource.csv(str(folder), "user string, x long", watch=True)
        # A function decides about the time, so that elements are rows from the beginning.
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda row, _: row.x)
        stream = env.from_source(source, strategy, "rows").uid(NAMES[0])
        sinks = []
        for name in [name for name in NAMES[1:] if name]:
            sinks.append(CollectSink())
            pairs = stream.map(lambda row: (row.user, row.x)).uid(f"map {name}")
            pairs.key_by(lambda pair: pair[0]).reduce(Add()).uid(name).sink_to(sinks[-1]).uid(f"sink {name}")
        run_until(env, lambda: all(len(sink.results) >= expected for sink in sinks))
        return sinks

    folder.joinpath("0.csv").write_text("user,x\nann,1\nann,2\nben,5\n")
    for sink in run(3):
        assert sorted(sink.results) == [("ann", 1), ("ann", 3), ("ben", 5)]
    folder.joinpath("1.csv").write_text("user,x\nann,4\nben,6\n")
    for sink in run(2):
        assert sorted(sink.results) == [("ann", 7), ("ben", 11)]


def test_a_uid_must_say_something(runtime: Runtime) -> None:
    stream = runtime.environment().from_collection([1])
    with pytest.raises(ValueError, match="uid"):
        stream.map(str).uid("")
