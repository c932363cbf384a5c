"""`python -m benchmarks.peers`: run engines on the same tasks, check results, then print and write figures.

`--quick` is small: Spark native and Tidegate, one kind of windows. It writes no files and fails only if results differ.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.peers.engines import ENGINES, ROOT, Engine
from benchmarks.peers.measure import Bench, EngineError, Sizes, Task
from benchmarks.peers.report import draw, markdown
from benchmarks.peers.results import HEADER, Results, remarks, rows
from benchmarks.peers.tasks import KEYS, Choice, takes_part, tasks
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

QUICK = ("spark", "tidegate", "tidegate-fused")
KINDS = ("windows", "dense", "late", "stored")
WINDOWS = ("tumbling", "sliding", "session")


def main() -> None:
    options = parse()
    console = Console()
    sizes = Sizes(options.rows, options.batches, options.warm_up)
    choice = Choice(options.windows, options.keys, options.kinds, sizes, options.everything)
    engines, missing = available(options.engines)
    options.data.mkdir(parents=True, exist_ok=True)
    saved = options.data / "results.json"
    results = Results.load(saved) if options.add and saved.exists() else Results()
    results.missing = missing
    size = f"{sizes.batches} batches, the first {sizes.warm_up} unmeasured"
    if options.rounds and size not in results.batches:
        results.batches.append(size)
    started = time.monotonic() - results.minutes * 60

    def save() -> None:
        results.minutes = (time.monotonic() - started) / 60
        if not options.quick:
            results.save(saved)

    run_all(console, Bench(options.data), choice, engines, options.rounds, results, save)
    for failure in results.failures:
        console.print(failure, style="red", markup=False)
    if options.quick:
        console.print(f"peers: results of {', '.join(e.title for e in engines)} agree" * (not results.failures))
    else:
        show(console, results)
        picture = draw(results, options.results.with_suffix(".png"))
        options.results.write_text(markdown(results, picture), encoding="utf-8")
    sys.exit(bool(results.failures))


def run_all(
    console: Console,
    bench: Bench,
    choice: Choice,
    engines: list[Engine],
    rounds: int,
    results: Results,
    save: Callable[[], None],
) -> None:
    """Every round visits every task with every engine; which engine is first turns from round to round."""
    todo = [(task, [e for e in engines if takes_part(e, task, choice)]) for task in tasks(choice)]
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task("making input", total=rounds * sum(len(who) for _, who in todo))
        for number in range(rounds):
            for task, who in todo:
                results.kinds[task.name] = task.kind
                results.rows[task.name] = task.sizes.rows
                turn = results.rounds(task.name) % len(who) if who else 0
                for engine in [*who[turn:], *who[:turn]]:
                    progress.update(bar, description=f"round {number + 1}: {engine.title}, {task.name}")
                    run_one(bench, engine, task, results)
                    save()
                    if not console.is_terminal:
                        console.print(f"round {number + 1}: {engine.title}, {task.name}: done", highlight=False)
                    progress.advance(bar)


def run_one(bench: Bench, engine: Engine, task: Task, results: Results) -> None:
    cell = results.cell(task.name, engine.name)
    if cell.failure:
        return
    try:
        measured = bench.run(engine, task)
    except EngineError as error:
        cell.failure = str(error)
        return
    cell.rates.append(measured.rate)
    cell.millis += measured.batch_millis
    results.versions[engine.name] = measured.version
    if engine.name == "tidegate" or task.name not in results.checks:
        results.checks[task.name] = str(measured.checksum)


def show(console: Console, results: Results) -> None:
    for task in results.cells:
        table = Table(*HEADER, title=task, title_justify="left")
        for line in rows(results, task):
            table.add_row(*line)
        console.print(table)
    for remark in remarks(results):
        console.print(remark, highlight=False)
    for name, why in results.missing.items():
        console.print(f"not run: {name}: {why}", highlight=False)


def available(names: tuple[str, ...]) -> tuple[list[Engine], dict[str, str]]:
    """The chosen engines whose environments are there, and why the others are not run."""
    chosen = [ENGINES[name] for name in names]
    missing = {}
    for engine in chosen:
        refused = ROOT / engine.environment / ".refused"
        if refused.exists():
            missing[engine.title] = f"did not install: {refused.read_text(encoding='utf-8').strip()}"
        elif not engine.python.exists():
            missing[engine.title] = f"there is no {engine.environment}; `make bench` makes it"
    return [engine for engine in chosen if engine.title not in missing], missing


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--everything", action="store_true", help="every engine with every window and number of keys")
    parser.add_argument("--engines", type=chooser(ENGINES), default=tuple(ENGINES), help=",".join(ENGINES))
    parser.add_argument("--windows", type=chooser(WINDOWS), default=WINDOWS, help=",".join(WINDOWS))
    parser.add_argument("--keys", type=chooser(KEYS), default=tuple(KEYS), help=",".join(KEYS))
    parser.add_argument("--kinds", type=chooser(KINDS), default=KINDS, help=",".join(KINDS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--add", action="store_true", help="add rounds to the results of earlier runs")
    parser.add_argument("--rows", type=int, default=4_000_000, help="rows of a batch; some tasks take a share of it")
    parser.add_argument("--batches", type=int, default=7)
    parser.add_argument("--warm-up", type=int, default=3, help="batches that are not measured")
    parser.add_argument("--data", type=Path, default=ROOT / "build" / "bench", help="folder for input and scratch")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "RESULTS.md")
    options = parser.parse_args()
    if options.batches <= options.warm_up:
        parser.error("--batches must be more than --warm-up")
    if options.quick:
        options.engines, options.windows, options.keys, options.kinds = QUICK, ("tumbling",), ("low",), ("windows",)
        options.rounds, options.rows, options.batches, options.warm_up = 1, 10_000, 2, 1
    return options


def chooser(known: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """Reads names with commas between them."""
    names = tuple(known)

    def choose(text: str) -> tuple[str, ...]:
        chosen = tuple(text.split(","))
        for name in chosen:
            if name not in names:
                raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(names)}")
        return chosen

    return choose


if __name__ == "__main__":
    main()
