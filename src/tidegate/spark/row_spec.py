"""Tasks whose records travel as columns although they take elements one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class RowSpec:
    """A keyed task that takes elements one by one: the columns of its key, and how a row becomes an element."""

    key_names: tuple[str, ...]
    make_elements: Callable[[Sequence[str]], Callable[..., Any]]

    needs_records: ClassVar[bool] = True
