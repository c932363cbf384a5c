"""Named blobs in Spark's state store: read lazily, once in a batch, and written where they changed.

Every call into the state store is a round trip, so there are few blobs, and each holds much.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import cloudpickle

from tidegate.core.state.blobs import Blobs
from tidegate.errors import SnapshotError
from tidegate.spark.wire.pickling import dumps
from tidegate.storage.signing import seal, unseal

_VERSION: Final = b"\x03"
"""Every blob begins with it."""


class SubtaskBlobs(Blobs, Protocol):
    """All blobs of one subtask."""

    def clear(self) -> None: ...


def state_of(name: str, stage: int, subtask: int) -> str:
    """What a blob is, for its signature and for people."""
    return f"state {name!r} of subtask {subtask} of stage {stage}"


class MapStateBlobs:
    """The blobs of one subtask, in a map state of Spark's."""

    def __init__(self, state: Any, stage: int, subtask: int) -> None:
        self._state = state
        self._owner = (stage, subtask)

    def get(self, name: str, *, is_there: bool = False) -> bytes | None:
        # Spark warns of a value that is asked for and not there, and reads one that is there to say so.
        if not is_there and not self._state.containsKey((name,)):
            return None
        value = self._state.getValue((name,))
        return None if value is None else unseal(bytes(value[0]), state_of(name, *self._owner))

    def put(self, name: str, data: bytes) -> None:
        self._state.updateValue((name,), (seal(data, state_of(name, *self._owner)),))

    def remove(self, name: str) -> None:
        self._state.removeKey((name,))

    def clear(self) -> None:
        self._state.clear()


class BatchBlobs:
    """The blobs of the batch that runs: they are others in every batch, and whoever holds this need not know."""

    def __init__(self) -> None:
        self._blobs: Blobs | None = None

    def use(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def get(self, name: str, *, is_there: bool = False) -> bytes | None:
        return self._current().get(name, is_there=is_there)

    def put(self, name: str, data: bytes) -> None:
        self._current().put(name, data)

    def remove(self, name: str) -> None:
        self._current().remove(name)

    def _current(self) -> Blobs:
        assert self._blobs is not None, "state is there while a batch runs"
        return self._blobs


class NamedBlobs:
    """The blobs of one purpose of one operator. Its uid stands last in their names, so that no two can be the same."""

    def __init__(self, blobs: Blobs, purpose: str, uid: str) -> None:
        self._blobs = blobs
        self._purpose = purpose
        self._uid = uid

    def get(self, name: str, *, is_there: bool = False) -> bytes | None:
        return self._blobs.get(blob_name(self._purpose, name, self._uid), is_there=is_there)

    def put(self, name: str, data: bytes) -> None:
        self._blobs.put(blob_name(self._purpose, name, self._uid), data)

    def remove(self, name: str) -> None:
        self._blobs.remove(blob_name(self._purpose, name, self._uid))


def blob_name(purpose: str, name: str, uid: str) -> str:
    """`purpose` and `name` are ours and hold no colon; `uid` is the user's and may be any text."""
    return f"{purpose}:{name}:{uid}"


class BlobCache:
    """Loads each blob once per batch and writes back those that changed."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._values: dict[str, Any] = {}
        self._saved: dict[str, bytes | None] = {}

    def load(self, name: str, default: Any) -> Any:
        """The value, to be changed in place; `default` if there is none."""
        if name not in self._values:
            data = self._blobs.get(name)
            self._saved[name] = data
            self._values[name] = default if data is None else decode_blob(data, name)
        return self._values[name]

    def replace(self, name: str, value: Any) -> None:
        if name not in self._saved:
            self._saved[name] = self._blobs.get(name)
        self._values[name] = value

    def create(self, name: str, value: Any) -> None:
        """A value that was not there before."""
        self._saved[name] = None
        self._values[name] = value

    def flush(self) -> None:
        """Write what changed, and forget all: the next batch reads what it needs. Values that are empty go."""
        for name, value in self._values.items():
            saved = self._saved[name]
            if not value:
                if saved is not None:
                    self._blobs.remove(name)
                continue
            data = encode_blob(value)
            if data != saved:
                self._blobs.put(name, data)
        self._values.clear()
        self._saved.clear()


def encode_blob(value: Any) -> bytes:
    return _VERSION + dumps(value)


def decode_blob(data: bytes, name: str) -> Any:
    if data[:1] != _VERSION:
        raise SnapshotError(
            f"state {name!r} has version {data[:1]!r}, this Tidegate reads {_VERSION!r}; "
            "continue with the Tidegate that wrote the checkpoint"
        )
    return cloudpickle.loads(data[1:])
