"""The kinds of scripts, and random ones from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from random import Random
from typing import Final

from tests.oracle import request_scripts, time_scripts, window_scripts
from tests.oracle.script import Script

KINDS: Final[Mapping[str, Callable[[Random], Script]]] = {
    "valve": partial(time_scripts.channel_script, "valve"),
    "combine": partial(time_scripts.channel_script, "combine"),
    "multiplexer": partial(time_scripts.channel_script, "multiplexer"),
    "generator": time_scripts.generator_script,
    "alignment": time_scripts.alignment_script,
    "timers": time_scripts.timer_script,
    "assigner": window_scripts.assigner_script,
    "merge": window_scripts.merge_script,
    "merging_set": window_scripts.merging_set_script,
    "trigger": window_scripts.trigger_script,
    "evictor": window_scripts.evictor_script,
    "async_queue": request_scripts.queue_script,
    "retry": request_scripts.retry_script,
}


def random_scripts(kind: str, seed: int, count: int) -> Iterator[Script]:
    """`count` scripts of a kind; the same seed gives the same ones."""
    rng = Random(f"{kind} {seed}")
    make = KINDS[kind]
    return (make(rng) for _ in range(count))
