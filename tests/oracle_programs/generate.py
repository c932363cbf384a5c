"""Draws random programs. A seed always gives the same one, and the kinds take turns."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.oracle_programs.inputs import Element
from tests.oracle_programs.kinds import KINDS, Draft
from tests.oracle_programs.program import Program


def generate(seed: int) -> Program:
    kinds = list(KINDS)
    kind = kinds[seed % len(kinds)]
    draft = KINDS[kind](random.Random(seed))
    mode = _mode(draft.modes, seed // len(kinds))
    return Program(seed, kind, _text(draft), tuple(draft.ordered), tuple(draft.unstamped), draft.parallel, mode)


def _mode(exact: set[str], turn: int) -> str:
    """Threads are faster, but every fourth program runs in a process if it can."""
    (mode,) = exact if len(exact) == 1 else [("thread", "process")[turn % 4 == 0]]
    return mode


def programs(seed: int, count: int) -> Iterator[Program]:
    """So many programs from a seed on."""
    return (generate(number) for number in range(seed, seed + count))


def _text(draft: Draft) -> str:
    lines = []
    if draft.imports:
        lines.append(f"from pyflink.datastream.window import {', '.join(sorted(draft.imports))}")
    lines.append("")
    for name, elements in draft.sources.items():
        lines.append(f"{name} = [")
        lines.extend(f"    {_literal(element)}," for element in elements)
        lines.append("]")
        lines.append("")
    lines.append("def build(env):")
    lines.extend(f"    {line}" for line in draft.lines)
    outputs = ", ".join(f'"{name}": {stream}' for name, stream in draft.outputs.items())
    lines.append(f"    return {{{outputs}}}")
    return "\n".join(lines) + "\n"


def _literal(element: Element) -> str:
    return repr(tuple(element))
