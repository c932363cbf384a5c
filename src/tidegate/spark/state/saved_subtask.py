"""What is saved of a subtask, beside its blobs: one blob that says everything else."""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple

from tidegate.core.state.snapshot import Snapshot
from tidegate.spark.state.blobs import decode_blob, encode_blob

SUBTASK: Final = "subtask"
"""The name of the blob."""
_HEAD: Final = struct.Struct("<16sq")
"""Who saved a subtask last, and how many batches it had seen by then."""


class SavedState(NamedTuple):
    """A subtask as it was behind its last batch."""

    stage: int
    rescaled: int
    """The number of the last rescale that it has begun behind, 0 before any."""
    run: str | None
    """The run that saved it, None for that which rescaled it."""
    formats: dict[str, dict[str, Any]]
    savers: dict[bytes, int]
    """Those who saved it, with the number of batches that it had seen then."""
    subtask: Snapshot
    stores: dict[str, Any]


def encode_subtask(saver: bytes, num_batches: int, saved: SavedState) -> bytes:
    return _HEAD.pack(saver, num_batches) + encode_blob(saved._asdict())


def decode_head(data: bytes) -> tuple[bytes, int]:
    """Who saved it, and how many batches it had seen."""
    saver, num_batches = _HEAD.unpack_from(data)
    return saver, num_batches


def decode_subtask(data: bytes) -> SavedState:
    return SavedState(**decode_blob(data[_HEAD.size :], SUBTASK))
