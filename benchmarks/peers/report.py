"""`benchmarks/RESULTS.md` and its picture, made from results."""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers.engines import ENGINES, NOT_RUN
from benchmarks.peers.results import HEADER, Results, machine, remarks, rows

INTRODUCTION = """# Results

Made by `make bench`; do not edit. The same job on every engine: count, sum and maximum of orders for each user and
window, with timestamps up to 5 seconds out of order in two partitions. Results are added up in the query (Spark,
Tidegate) or written to files (the others, and windows that fire again). Those of every run were compared with what
numpy computes: the number of windows, the sum of their counts, and a hash of all (user, window, count, sum, maximum).
A figure is here only if they were equal.
"""

MEANING = """## What the figures mean

- **Engines in micro-batches** (Spark, Tidegate): rows of a batch divided by the median time of a batch, as Spark's
  query progress gives it (`triggerExecution`), after the warm-up batches. It includes reading, adding up the
  results and the checkpoint.
- **Engines that read in one go** (Flink, Bytewax, Pathway, Quix Streams): each round runs twice, over a quarter of the
  rows and over all of them. Records per second are the further rows divided by the further time, so that start-up drops
  out.
- **Orders a minute** of event time: 500,000, so with 200,000 users about 2.5 for each user and minute. The more orders
  a user has in a window, the less Spark native has to keep, for it adds up before its shuffle: hence the table with
  twice the orders.
- **Slow engines get fewer rows** of the same stream, as the table of settings says, and so a shorter stretch of event
  time: more of their windows close only at the end. Rates are compared, not times.
- **Times Spark native** is the ratio of the rates in the same round; the median of the rounds. Above 1 is faster. An
  engine with another number of rounds was run by itself, and its median is compared with that of Spark native.
- **Flink and others read CSV**, since Flink's Parquet needs further jars. The lines "CSV" of Spark and Tidegate are
  there to compare with them.
- **Bytewax** has a clock for each key that moves with the wall clock; it is given one that stands still, and one
  reader, because it has no watermark for each partition. **Pathway** gets the whole input as one static batch.
  **Quix Streams** reads from Kafka only: a broker runs beside it on the same cores.
- **PyFlink** calls the JVM for the state of a user and window that its worker does not know yet. Of the few rows that
  it gets with 200,000 users nearly each is the first of its user and window; with 1,000 users hardly any is.
- **Late orders**: half of one per cent of the orders is late but within the allowed lateness, half is too late. Spark
  native has neither allowed lateness nor a late output: it waits 15 seconds instead of 5 and drops what is later.
- **Keys stored**: one window that stays open holds the keys; each measured batch touches up to 10,000 of them.
"""


def markdown(results: Results, picture: str | None) -> str:
    parts = [INTRODUCTION, _setting(results)]
    if picture is not None:
        parts.append(f"![Records per second against Spark native]({picture})\n")
    for task in results.cells:
        size = f"Batches of {results.rows[task]:,} rows.\n\n" if task in results.rows else ""
        parts.append(f"## {task[0].upper()}{task[1:]}\n\n{size}{_table(HEADER, rows(results, task))}")
        if task in results.checks:
            parts.append(f"Checked; of the input of Tidegate on a DataFrame: {results.checks[task]}.\n")
    if found := remarks(results):
        parts.append("## Other ratios\n\n" + "".join(f"- {remark}\n" for remark in found))
    parts += [MEANING, _engines(results), _not_run(results)]
    return "\n".join(parts)


def _setting(results: Results) -> str:
    facts = [f"{name} {value}" for name, value in machine().items()]
    return (
        f"Machine: {', '.join(facts)}. Rounds are interleaved, the order of the engines turning from round to round; "
        f"{' or '.join(results.batches)}. {results.minutes:.0f} minutes in all.\n"
    )


def _table(header: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    marks = ["---" if name in ("engine", "reads", "settings", "version") else "---:" for name in header]
    return "".join(f"| {' | '.join(line)} |\n" for line in [header, marks, *lines])


def _engines(results: Results) -> str:
    lines: list[tuple[str, ...]] = [
        (
            engine.title,
            results.versions.get(name, ""),
            "all" if engine.share == 1 else f"{engine.share * 100:g}%" + _further(engine.slower),
            engine.settings,
        )
        for name, engine in ENGINES.items()
        if name in results.versions
    ]
    return "## Versions and settings\n\n" + _table(("engine", "version", "rows", "settings"), lines)


def _further(slower: dict[str, float]) -> str:
    return "".join(f", {share:.0%} of that for {window}" for window, share in slower.items())


def _not_run(results: Results) -> str:
    missing = NOT_RUN | results.missing
    failed = [f"- {failure.splitlines()[0]}\n" for failure in results.failures]
    return "## Not run\n\n" + "".join([*(f"- {name}: {why}\n" for name, why in missing.items()), *failed])


def draw(results: Results, path: Path) -> str | None:
    """Bars of each engine's rate against Spark native, a panel for each task; the name of the file if there are any."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = [task for task in results.cells if any(results.ratio(task, name) for name in results.cells[task])]
    if not names:
        return None
    heights = [1 + len(results.cells[task]) for task in names]
    figure, axes = plt.subplots(
        len(names), 1, figsize=(9, 0.36 * sum(heights) + 0.5), height_ratios=heights, sharex=True, squeeze=False
    )
    for task, axis in zip(names, axes[:, 0], strict=True):
        found = [(name, results.ratio(task, name)) for name in ENGINES if name in results.cells[task]]
        bars = [(ENGINES[name].title, ratio) for name, ratio in reversed(found) if ratio is not None]
        colours = ["#0b7285" if title.startswith("Tidegate") else "#adb5bd" for title, _ in bars]
        drawn = axis.barh([title for title, _ in bars], [ratio for _, ratio in bars], color=colours)
        axis.bar_label(drawn, fmt="%.2f", padding=3, fontsize=8)
        axis.axvline(1.0, color="#495057", linewidth=0.8)
        axis.set_xscale("log")
        axis.set_title(task, fontsize=9, loc="left")
        axis.tick_params(labelsize=8)
        axis.margins(x=0.12)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[-1, 0].set_xlabel("records per second, times Spark native (log scale)", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    return path.name
