"""What an operator is described by: a frozen value that every subtask creates its own from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidegate.core.key.key_groups import KeyGroups
from tidegate.core.state.blobs import Blobs
from tidegate.core.state.format import StateFormat
from tidegate.core.state.snapshot import Snapshot

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

    def share_own(
        self, owns: Sequence[Any], blobs: Sequence[Blobs], into: Sequence[Blobs], groups: KeyGroups
    ) -> list[Any]:
        """With another parallelism: what each new subtask keeps beside keyed state and timers.

        `owns` is what each of the old ones kept, with its `blobs`; new ones store theirs in `into`. Where nothing else
        is said all have kept the same.
        """
        return [owns[0] for _ in into]

    def share_chain(self, saved: Sequence[Snapshot], lowest: Snapshot, count: int) -> list[Snapshot]:
        """The same for an operator without keyed state: the snapshots of so many, `lowest` being the one behind all."""
        return [lowest] * count

    @abstractmethod
    def create(self) -> Operator: ...
