"""What an operator is described by: a frozen value that every subtask creates its own from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from tidegate.core.state.format import StateFormat

if TYPE_CHECKING:
    from tidegate.core.operator.operator import Operator


class OperatorSpec(ABC):
    """An operator as a value."""

    __slots__ = ()

    @property
    def waits_for_clock(self) -> bool:
        """Whether something may become due while no record comes: a timer by the clock, an idle countdown."""
        return False

    def state_format(self) -> StateFormat | None:
        """What its state means, None if it keeps none that a changed program would miss."""
        return None

    @abstractmethod
    def create(self) -> Operator: ...
