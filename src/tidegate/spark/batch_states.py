"""The state of the sinks in the driver, saved with the batch that it belongs to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import cloudpickle

from tidegate.errors import SnapshotError

_KEPT: Final = 2


class BatchStates:
    """The states after the last two batches.

    A state is saved before Spark commits its batch. After a crash between the two the batch comes again, and must
    start from the state before it, not from its own.
    """

    def __init__(self, path: Path, initial: Any) -> None:
        self._path = path
        self._states: list[tuple[int, Any]] = [(-1, initial)]
        if path.exists():
            try:
                self._states = cloudpickle.loads(path.read_bytes())
            except Exception as error:
                raise SnapshotError(
                    f"{path} cannot be read ({type(error).__name__}: {error}); choose another checkpoint folder"
                ) from error

    @property
    def last(self) -> Any:
        """The state after the last batch."""
        return self._states[-1][1]

    @property
    def last_batch(self) -> int:
        """The last batch that a state was saved for, -1 before any."""
        return self._states[-1][0]

    def before(self, batch_id: int) -> Any:
        """The state that a batch starts from."""
        for known, state in reversed(self._states):
            if known < batch_id:
                return state
        raise SnapshotError(
            f"{self._path} knows the sinks after batch {self._states[0][0]}, but batch {batch_id} comes again: the "
            "checkpoint was put together from different times; restore all of it, or choose another folder"
        )

    def save(self, batch_id: int, state: Any) -> None:
        known = [(number, saved) for number, saved in self._states if number < batch_id]
        self._states = [*known[1 - _KEPT :], (batch_id, state)]
        temporary = self._path.with_suffix(".tmp")
        temporary.write_bytes(cloudpickle.dumps(self._states))
        os.replace(temporary, self._path)
