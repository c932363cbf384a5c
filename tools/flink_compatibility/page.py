"""The page: what was found, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tools.flink_compatibility.beyond import NewMembers, NewNames
from tools.flink_compatibility.comparison import ClassRows, ModuleRows, Row
from tools.flink_compatibility.defects import Defect
from tools.flink_compatibility.differences import MeasuredDifference
from tools.flink_compatibility.verdicts import Answer, Verdict

INTRODUCTION = """\
# Compatibility with PyFlink

A PyFlink DataStream program runs when `pyflink` in its imports becomes `tidegate`. This page says for every class and
method of PyFlink {version} whether that holds.

It is made from the code by `python -m tools.flink_compatibility.build_table`; do not edit it. PyFlink's names come from
its own package, Tidegate's from importing and inspecting the counterparts. A test fails when this page is no longer
what the code says.

- **yes**: at the same path, and every call that PyFlink understands is understood. Tidegate may take more arguments.
- **differs**: there, but not the same; the last column says how.
- **no**: missing or refused; the last column says why. What is refused raises an `UnsupportedError` with that reason,
  and what cannot be imported an `UnsupportedImportError`.

Methods that a class inherits are listed with the class that defines them. Constructors that want a Java object are not
compared: only PyFlink calls them. Names that PyFlink does not export are left out, unless its documentation leads to
them.
"""

MEASURED = """\
`make oracle-parts` runs thousands of random scripts on Flink {version}'s own classes and on Tidegate's: valve, several
inputs, generators, idleness, alignment, timers, window assigners, merging, triggers, evictors, asynchronous queues and
retries. A difference that is not in this table fails the run. Results recorded from Flink are part of `make test`. What
scripts cannot show is in [semantics.md](semantics.md).
"""


def page(
    version: str,
    modules: Sequence[ModuleRows],
    new_names: Sequence[NewNames],
    new_members: Sequence[NewMembers],
    pinned: Sequence[Defect],
    measured: Sequence[MeasuredDifference],
) -> str:
    parts = [INTRODUCTION.format(version=version), *_numbers(modules)]
    for module in modules:
        if module.classes or module.others:
            parts += [f"## `{module.name}`", _table(("PyFlink", "in Tidegate", "how, or why not"), _module(module))]
    parts += ["## What Tidegate has beyond PyFlink", *_beyond(new_names, new_members)]
    parts += ["## PyFlink defects that are not copied", *_defects(pinned)]
    parts += ["## Where the core behaves otherwise than Flink's", *_measured(version, measured)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _numbers(modules: Sequence[ModuleRows]) -> Iterator[str]:
    """How many names of each kind, for the two packages without connectors, and for connectors and formats."""
    groups: dict[str, dict[Answer, int]] = {}
    for module in modules:
        is_connector = ".connectors" in module.name or ".formats" in module.name
        group = "connectors and formats" if is_connector else ".".join(module.name.split(".")[:2])
        counts = groups.setdefault(group, dict.fromkeys(Answer, 0))
        for cls in module.classes:
            for row in (cls.row, *cls.members):
                counts[row.verdict.answer] += 1
        for row in module.others:
            counts[row.verdict.answer] += 1
    yield "## In numbers"
    rows = [
        (f"`{group}`" if "." in group else group, *(str(counts[a]) for a in Answer)) for group, counts in groups.items()
    ]
    yield _table(("classes, methods and other names", "yes", "differs", "no"), rows)


def _module(module: ModuleRows) -> Iterator[tuple[str, str, str]]:
    missing: dict[Verdict, list[ClassRows]] = {}
    for cls in module.classes:
        if cls.is_missing:
            missing.setdefault(cls.row.verdict, []).append(cls)
        else:
            yield f"**`{cls.row.name}`**", cls.row.verdict.answer.value, cls.row.verdict.remark
            yield from _rows(cls.members)
    yield from _rows(module.others)
    for verdict, classes in missing.items():
        yield "; ".join(map(_with_members, classes)), verdict.answer.value, verdict.remark


def _with_members(cls: ClassRows) -> str:
    members = f" ({_names(row.name for row in cls.members)})" if cls.members else ""
    return f"**`{cls.row.name}`**{members}"


def _rows(rows: Iterable[Row]) -> Iterator[tuple[str, str, str]]:
    """One line for all names of which the same is true."""
    by_verdict: dict[Verdict, list[str]] = {}
    for row in rows:
        by_verdict.setdefault(row.verdict, []).append(row.name)
    order = list(Answer)
    for verdict, found in sorted(by_verdict.items(), key=lambda item: (order.index(item[0].answer), item[1])):
        yield _names(found), verdict.answer.value, verdict.remark


def _beyond(new_names: Sequence[NewNames], new_members: Sequence[NewMembers]) -> Iterator[str]:
    yield "Names that Java Flink has and PyFlink lacks, and names that neither has."
    yield _table(("name", "import it from", ""), ((_names(n.names), f"`{n.module}`", n.summary) for n in new_names))
    yield "Methods and arguments of classes that PyFlink has too:"
    rows = []
    for new in new_members:
        arguments = "; ".join(f"`{method}`: {_names(more)}" for method, more in new.arguments)
        rows.append((f"`{new.class_name}`", _names(new.methods), arguments))
    yield _table(("class", "methods", "further arguments"), rows)


def _defects(pinned: Sequence[Defect]) -> Iterator[str]:
    yield "A program that relies on one of these gives another result here."
    rows = ((d.pyflink, d.tidegate, f"[{d.test_name}](../{d.file})") for d in pinned)
    yield _table(("PyFlink", "Tidegate", "pinned by"), rows)


def _measured(version: str, measured: Sequence[MeasuredDifference]) -> Iterator[str]:
    yield MEASURED.format(version=version).strip()
    rows = ((d.name, d.part, d.flink, f"{d.tidegate} {d.why}", f"[{d.pin.file}](../{d.pin.file})") for d in measured)
    yield _table(("name", "part", f"Flink {version}", "Tidegate, and why", "pinned by"), rows)


def _names(found: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in found)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)
