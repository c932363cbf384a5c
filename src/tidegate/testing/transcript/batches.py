"""How a script is cut into micro-batches: `one`, `each` or `random:SEED`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.errors import InvalidValueError
from tidegate.testing.transcript.script import Act, Expect, Step


@dataclass(frozen=True, slots=True)
class Batches:
    """`one`: all inputs between two expectations. `each`: one input per batch. `random:SEED`: cut at random."""

    mode: str = "one"
    seed: int = 0

    @staticmethod
    def parse(text: str) -> Batches:
        mode, _, seed = text.partition(":")
        if mode == "random" and seed.lstrip("-").isdigit():
            return Batches("random", int(seed))
        if text in ("one", "each"):
            return Batches(text)
        raise InvalidValueError(f"--batches takes one, each or random:SEED, got {text!r}")

    def cuts(self, script: Sequence[Step]) -> set[int]:
        """The numbers of the steps after which a batch ends. An expectation and a `time` step always end one."""
        chooser = random.Random(self.seed)
        cuts: set[int] = set()
        for step, following in zip(script, [*script[1:], None], strict=True):
            if isinstance(step, Expect):
                continue
            must = following is None or isinstance(following, Expect)
            must = must or (isinstance(following, Act) and following.action in ("time", "restart"))
            if must or self.mode == "each" or (self.mode == "random" and chooser.random() < 0.5):
                cuts.add(step.number)
        return cuts
