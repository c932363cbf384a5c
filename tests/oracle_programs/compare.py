"""Whether two engines gave the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from tests.oracle_programs.program import Program
from tests.oracle_programs.running import Outputs

SIDE_OUTPUTS = ("late", "odd", "side")


def difference(program: Program, expected: Outputs, actual: Outputs) -> str | None:
    """The first difference in words, or nothing.

    Each output is compared as a multiset of values with timestamps, and key by key in order where there is one. In
    thread mode PyFlink loses the timestamps of side outputs, so they are not compared.
    """
    if expected.keys() != actual.keys():
        return f"outputs {sorted(expected)}, but {sorted(actual)}"
    for name in expected:
        is_stamped = name not in program.unstamped and not (program.mode == "thread" and name in SIDE_OUTPUTS)
        wanted, got = (_results(outputs[name], is_stamped) for outputs in (expected, actual))
        missing, surplus = Counter(wanted) - Counter(got), Counter(got) - Counter(wanted)
        if missing or surplus:
            return f"{name}: missing {sorted(missing.elements())[:5]}, surplus {sorted(surplus.elements())[:5]}"
        if name in program.ordered:
            wanted_by_key, got_by_key = (_by_key(outputs[name]) for outputs in (expected, actual))
            for key, results in wanted_by_key.items():
                if got_by_key[key] != results:
                    return f"{name}: order of key {key}: {results} became {got_by_key[key]}"
    return None


def _results(results: list[tuple[Any, int | None]], is_stamped: bool) -> list[str]:
    return [repr((_plain(value), timestamp if is_stamped else None)) for value, timestamp in results]


def _by_key(results: list[tuple[Any, int | None]]) -> dict[str, list[str]]:
    keyed = defaultdict(list)
    for value, _ in results:
        keyed[str(value[0])].append(repr(_plain(value)))
    return keyed


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
