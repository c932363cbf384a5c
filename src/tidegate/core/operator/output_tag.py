"""Output tags: the names of side outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tidegate.errors import InvalidValueError


@dataclass(frozen=True, slots=True)
class OutputTag:
    """Names a side output. Two tags with the same id are the same output.

    >>> OutputTag("late") == OutputTag("late")
    True
    """

    tag_id: str
    type_info: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.tag_id, str) or not self.tag_id:
            raise InvalidValueError(f"OutputTag: the id must be a text that is not empty, got {self.tag_id!r}")


class DeadLetter(NamedTuple):
    """A record that an operator could not take, because user code raised for it."""

    operator: str
    value: Any
    timestamp: int | None
    error: str


DEAD_LETTERS: Final = OutputTag("dead-letters")
"""Where `DeadLetter`s go when an operator was built with `on_error="side_output"`."""
