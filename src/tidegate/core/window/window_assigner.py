"""What a window assigner is: the interface that puts elements into windows."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any

from tidegate.core.subscriptable import Subscriptable
from tidegate.core.window.evictors import Evictor
from tidegate.core.window.trigger import Trigger
from tidegate.core.window.windows import TimeWindow


class WindowAssigner(Subscriptable, ABC):
    """Puts each element into windows."""

    class WindowAssignerContext(ABC):
        @abstractmethod
        def get_current_processing_time(self) -> int: ...

        @abstractmethod
        def get_runtime_context(self) -> Any: ...

    @abstractmethod
    def assign_windows(self, element: Any, timestamp: int, context: WindowAssignerContext) -> Collection[Any]:
        """The windows of the element."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger: ...

    def get_default_evictor(self) -> Evictor | None:
        """The evictor of the windows if the user sets none."""
        return None

    def get_window_serializer(self) -> Any:
        """PyFlink asks for one; windows are plain values here and need none."""
        return None

    @abstractmethod
    def is_event_time(self) -> bool: ...


class MergingWindowAssigner(WindowAssigner):
    """Assigns windows that grow together, such as sessions."""

    class MergeCallback(Subscriptable, ABC):
        @abstractmethod
        def merge(self, to_be_merged: Collection[Any], merge_result: Any) -> None:
            """These windows become that one."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[Any], callback: MergeCallback) -> None:
        """Say which of the windows are to be merged."""


class WindowStagger(enum.Enum):
    """When the windows of different operator instances start: all together, at random, or with their first element."""

    ALIGNED = "aligned"
    RANDOM = "random"
    NATURAL = "natural"

    def offset(self, now: int, size: int, seed: int) -> int:
        """How far an operator instance shifts its windows; `seed` stands for the instance, also in a replay."""
        if self is WindowStagger.RANDOM:
            return seed % size
        if self is WindowStagger.NATURAL:
            return now - TimeWindow.get_window_start_with_offset(now, 0, size)
        return 0
