"""Runs programs of the same text on either engine: what they return is tagged, and leaves by one stream.

Flink's interpreter imports this file too, so it needs nothing but the engine that the environment is of.
"""

from __future__ import annotations

import functools
import json
from typing import Any

Outputs = dict[str, list[tuple[Any, int | None]]]
"""The results of a program by output, in the order in which they came, with their timestamps."""


_compiled = functools.lru_cache(maxsize=8)(lambda text: compile(text, "program", "exec"))


def run_together(env: Any, texts: list[list[str]], string_type: Any) -> list[Outputs]:
    """Programs, each in parts of text, independent of each other, as one job."""
    streams = []
    outputs: list[Outputs] = []
    for number, text in enumerate(texts):
        namespace: dict[str, Any] = {"__name__": f"program_{number}"}
        for part in text:
            exec(_compiled(part), namespace)
        built = namespace["build"](env)
        outputs.append({name: [] for name in built})
        for name, stream in built.items():
            streams.append(stream.process(namespace["Seen"](number, name), string_type))
    together = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
    with together.execute_and_collect() as lines:
        for line in lines:
            number, name, value, timestamp = json.loads(line)
            outputs[number][name].append((value, timestamp))
    return outputs
