"""Makes a script that shows a difference smaller."""

from __future__ import annotations

from collections.abc import Callable

from tests.oracle.script import Script


def shrunk(script: Script, still_differs: Callable[[Script], bool]) -> Script:
    """The script without every step that the difference does not need.

    Runs of steps are left out, long runs first, for as long as the rest still differs.

    >>> shrunk({"steps": [1, 2, 3, 4, 5]}, lambda script: {2, 4} <= set(script["steps"]))
    {'steps': [2, 4]}
    """
    steps = list(script["steps"])
    length = max(1, len(steps) // 2)
    while length:
        at = 0
        while at < len(steps):
            candidate = script | {"steps": steps[:at] + steps[at + length :]}
            if len(candidate["steps"]) and still_differs(candidate):
                steps = candidate["steps"]
            else:
                at += length
        length //= 2
    return script | {"steps": steps}
