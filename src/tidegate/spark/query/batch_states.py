"""The state of the sinks in the driver, saved with the batch that it belongs to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tidegate.storage.kept_file import KeptFile

_KEPT: Final = 2


class BatchStates:
    """The states after the last two batches.

    A state is saved before Spark commits its batch. After a crash between the two the batch comes again, and must
    start from the state before it, not from its own.
    """

    def __init__(self, path: Path, initial: Mapping[str, Any]) -> None:
        self._file = KeptFile(path, "sinks")
        saved = self._file.load(json.loads)
        self._states: list[tuple[int, Any]] = (
            [(-1, initial)] if saved is None else [(number, state) for number, state in saved]
        )

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
        earlier = [state for known, state in self._states if known < batch_id]
        if not earlier:
            self._file.refuse(
                f"it knows the sinks after batch {self._states[0][0]}, but batch {batch_id} comes again: the "
                "checkpoint was put together from different times"
            )
        return earlier[-1]

    def save(self, batch_id: int, state: Mapping[str, Any]) -> None:
        known = [(number, saved) for number, saved in self._states if number < batch_id]
        self._states = [*known[1 - _KEPT :], (batch_id, state)]
        self._file.write(json.dumps(self._states).encode())
