"""Windows that begin at a time of their own in each subtask, so that not all of them fire at once."""

from __future__ import annotations

from tidegate.core.window.assigners import TumblingWindows
from tidegate.core.window.window_assigner import WindowAssigner, WindowStagger


class Stagger:
    """Shifts the windows of a subtask, by as much as is chosen when its first element comes."""

    def __init__(self, assigner: WindowAssigner) -> None:
        is_staggered = isinstance(assigner, TumblingWindows) and assigner.stagger is not WindowStagger.ALIGNED
        self._windows = assigner if is_staggered and isinstance(assigner, TumblingWindows) else None
        self.shift: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether the shift is still to be chosen."""
        return self._windows is not None and self.shift is None

    def choose(self, now: int, seed: int) -> WindowAssigner:
        assert self._windows is not None
        return self.restore(self._windows.stagger.offset(now, self._windows.size, seed))

    def restore(self, shift: int) -> WindowAssigner:
        assert self._windows is not None
        self.shift = shift
        return self._windows.staggered(shift)
