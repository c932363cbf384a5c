"""What a trigger is: the interface that decides when a window gives its result."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from typing import Any

from tidegate.core.state.descriptors import StateDescriptor
from tidegate.core.subscriptable import Subscriptable
from tidegate.errors import InvalidValueError


class TriggerResult(enum.Enum):
    """What to do with a window: (fire, purge)."""

    CONTINUE = (False, False)
    FIRE = (True, False)
    PURGE = (False, True)
    FIRE_AND_PURGE = (True, True)

    def is_fire(self) -> bool:
        return self.value[0]

    def is_purge(self) -> bool:
        return self.value[1]


class Trigger(Subscriptable, ABC):
    """Decides when a window fires. Its state and timers belong to one key and window."""

    class TriggerContext(ABC):
        """What a trigger can ask and do."""

        @abstractmethod
        def get_current_processing_time(self) -> int: ...

        @abstractmethod
        def get_current_watermark(self) -> int: ...

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None: ...

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None: ...

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None: ...

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None: ...

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """State of this key and window."""

        @abstractmethod
        def get_metric_group(self) -> Any: ...

    class OnMergeContext(TriggerContext):
        """In `on_merge`, where the window is the merged one."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge this state of all windows that went into the merged one."""

    @abstractmethod
    def on_element(self, element: Any, timestamp: int, window: Any, ctx: TriggerContext) -> TriggerResult: ...

    @abstractmethod
    def on_processing_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult: ...

    @abstractmethod
    def on_event_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult: ...

    def uses_clock(self) -> bool:
        """Whether it may register timers by the clock; then batches are made while no data comes."""
        return True

    def can_merge(self) -> bool:
        """Whether `on_merge` is written, so that merging windows may use this trigger."""
        return False

    def on_merge(self, window: Any, ctx: OnMergeContext) -> None:
        raise InvalidValueError(f"{type(self).__name__} cannot merge windows")

    @abstractmethod
    def clear(self, window: Any, ctx: TriggerContext) -> None:
        """Forget the state and timers of the window."""
