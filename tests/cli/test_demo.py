"""The demo: its stream and its picture without Spark, and the whole of it on Spark."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from tidegate.cli.app import call
from tidegate.cli.demo_picture import DemoPicture
from tidegate.cli.demo_stream import LAG, START, Fired, Listener, Sale, build, late_with_one_watermark
from tidegate.cli.demo_view import DemoView, clock
from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.datastream import StreamExecutionEnvironment


class Notes(Listener):
    def __init__(self) -> None:
        self.sales: list[Sale] = []
        self.windows: list[Fired] = []
        self.late: list[Sale] = []

    def on_sale(self, sale: Sale) -> None:
        self.sales.append(sale)

    def on_window(self, fired: Fired) -> None:
        self.windows.append(fired)

    def on_late(self, sale: Sale) -> None:
        self.late.append(sale)


def test_program_of_the_demo_loses_only_what_it_puts_aside() -> None:
    notes = Notes()
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    build(env, notes, 1.5)
    env.execute()
    assert {sale.partition for sale in notes.sales} == {"steady", "lagging", "silent"}
    last = {(fired.product, fired.start): fired.sales for fired in notes.windows}
    assert sum(last.values()) + len(notes.late) == len(notes.sales)


def test_one_watermark_loses_what_lags() -> None:
    steady = [Sale("steady", "tea", START + n * 1_000, n * 100) for n in range(100)]
    lagging = [Sale("lagging", "tea", START + n * 1_000 - LAG, n * 100) for n in range(100)]
    assert late_with_one_watermark(steady) == 0
    assert late_with_one_watermark(lagging) == 0
    assert late_with_one_watermark(steady + lagging) > 50


def view_and_output(*, is_live: bool) -> tuple[DemoView, io.StringIO]:
    output = io.StringIO()
    return DemoView(Console(file=output, width=120), is_live=is_live), output


def tell(view: DemoView) -> None:
    view.on_sale(Sale("steady", "tea", START, 0))
    view.on_sale(Sale("silent", "tea", START, 0))
    view.on_partition_watermark("steady", START + 20_000)
    view.on_partition_watermark("silent", START)
    view.on_partition_watermark("lagging", START + 20_000)
    view.on_window(Fired("tea", START, START + 20_000, 2))
    view.on_watermark(START + 20_000)
    view.on_window(Fired("tea", START, START + 20_000, 3))
    view.on_late(Sale("lagging", "tea", START - 90_000, 0))


def test_events_are_plain_lines_where_the_output_is_piped() -> None:
    view, output = view_and_output(is_live=False)
    tell(view)
    lines = [line.split(" s  ", 1)[1] for line in output.getvalue().splitlines()]
    assert lines == [
        "Spark is warm: the stream begins",
        "window     12:00:00 - 12:00:20  tea       2 sales",
        "watermark  12:00:20   (steady 12:00:20  lagging 12:00:20  silent idle)",
        "update     12:00:00 - 12:00:20  tea       3 sales  again, with a straggler",
        "late       11:58:30  tea from lagging: to the side output",
    ]


def test_picture_shows_who_is_idle_and_who_holds_the_watermark() -> None:
    view, output = view_and_output(is_live=True)
    tell(view)
    assert output.getvalue() == ""
    Console(file=output, width=120).print(view)
    picture = output.getvalue()
    assert re.search(r"silent +1 +12:00:00 +12:00:00 idle", picture)
    assert re.search(r"lagging .* <- holds the watermark", picture)
    assert "1 windows, 1 updates, 1 late" in picture


def test_picture_file_keeps_the_moment_at_which_most_was_to_be_seen(tmp_path: Path) -> None:
    view, _ = view_and_output(is_live=True)
    drawn = DemoPicture(view)
    tell(view)
    drawn.look()
    for name in ("steady", "lagging", "silent"):
        view.on_partition_watermark(name, MAX_TIME)
    view.on_watermark(MAX_TIME)
    drawn.look()
    drawn.write(tmp_path / "demo.svg")
    svg = (tmp_path / "demo.svg").read_text()
    text = re.sub(r"<[^>]*>", "", svg).replace("&#160;", " ")
    assert "12:00:00 idle" in text
    assert "the end" not in text
    assert "tea from lagging: to the side output" in text
    assert "2 records, 1 windows" in text
    assert "font-face" not in svg


@pytest.mark.parametrize("name", ["demo.png", "no such folder/demo.svg"])
def test_a_picture_that_cannot_be_written_is_refused_before_the_run(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["demo", "--picture", str(tmp_path / name)]) == 2
    assert "--picture takes a file in a folder that exists, with a name in .svg" in capsys.readouterr().err


def test_summary_counts() -> None:
    view, _ = view_and_output(is_live=True)
    tell(view)
    assert view.summary().startswith("2 records, 1 windows, 1 updates by stragglers, 1 late records")


def test_clock_shows_the_ends_of_time() -> None:
    assert [clock(MIN_TIME), clock(START), clock(MAX_TIME)] == ["-", "12:00:00", "the end"]


@pytest.mark.spark
def test_demo_shows_windows_and_watermarks_on_spark() -> None:
    command = [sys.executable, "-m", "tidegate.cli", "demo", "--seconds", "5"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"window +\d\d:\d\d:\d\d - \d\d:\d\d:\d\d +(tea|coffee) +\d+ sales", result.stdout)
    assert "steady " in result.stdout
    assert "One watermark for the whole stream" in result.stdout
    assert result.stderr == ""
