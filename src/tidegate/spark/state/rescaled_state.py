"""State on its way from the subtasks of one parallelism to those of another: in files beside the checkpoint.

The state of every old subtask is dumped; of the dumps every new one gets its share, in files that its first batch puts
into the state store. All of it happens on workers: what is in the state store is unpickled there only.
"""

from __future__ import annotations

import contextlib
import struct
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import cloudpickle

from tidegate.core.columnar.table_cache import TableCache
from tidegate.core.state.blobs import MemoryBlobs
from tidegate.core.state.keyed_store import Slots
from tidegate.core.state.operator_state import OperatorState
from tidegate.core.state.timers import Timer
from tidegate.engine.plan import PhysicalPlan
from tidegate.engine.program import stage_formats
from tidegate.engine.rescaling import Rescaling, SavedSubtask
from tidegate.engine.state import StateBackend
from tidegate.errors import SnapshotError
from tidegate.spark.state.blob_state import BlobState
from tidegate.spark.state.blobs import state_of
from tidegate.spark.state.dump import Dump, DumpWriter, framed, unframed
from tidegate.spark.state.saved_subtask import SUBTASK, SavedState, decode_subtask, encode_subtask
from tidegate.storage.kept_file import KeptFile
from tidegate.storage.signing import unseal

_PART_BYTES: Final = 32 * 1024 * 1024
_COUNT: Final = struct.Struct("<I")
"""How many files a subtask has, at the beginning of the first."""


@dataclass(frozen=True, slots=True)
class RescaledState:
    """What a rescale has left for the first batch of every subtask. `number` counts the rescales of a checkpoint."""

    number: int
    folder: str

    def blobs(self, stage: int, subtask: int) -> Iterator[tuple[str, bytes]]:
        """The blobs of a subtask."""
        first = self._part(stage, subtask, 0)
        yield from unframed(first[_COUNT.size :])
        (count,) = _COUNT.unpack_from(first)
        for number in range(1, count):
            yield from unframed(self._part(stage, subtask, number))

    def _part(self, stage: int, subtask: int, number: int) -> bytes:
        file = _part_file(Path(self.folder), stage, subtask, number)
        data = file.read()
        if data is None:
            file.refuse("it is gone, and its subtask has not begun with what it holds")
        return data


@dataclass(frozen=True, slots=True)
class Dumping:
    """From the state store to a file for each subtask; on workers. `number` is that of the rescale before."""

    folder: str
    group_keys: tuple[int, ...]
    num_stages: int
    number: int

    def dump(self, rows: Iterable[tuple[int, str, bytes]]) -> list[tuple[int, int, int, int]]:
        """Dump the blobs of one state partition. Returns stage, subtask, and the numbers of blobs and of bytes."""
        writers: dict[int, DumpWriter] = {}
        saved: dict[int, bytes] = {}
        for gid, name, data in rows:
            if gid not in writers:
                writers[gid] = DumpWriter(Path(self.folder) / f"{uuid.uuid4().hex}.part")
            writers[gid].put(name, data)
            if name == SUBTASK:
                saved[gid] = data
        return [self._named(gid, writer, saved.get(gid)) for gid, writer in writers.items()]

    def _named(self, gid: int, writer: DumpWriter, sealed: bytes | None) -> tuple[int, int, int, int]:
        writer.close()
        subtask = self.group_keys.index(gid) if gid in self.group_keys else -1
        saved = None if sealed is None else self._unsealed(sealed, subtask)
        if saved is None or saved.rescaled != self.number or subtask < 0:
            raise SnapshotError(
                f"the state store holds a subtask with key {gid} that the program has not, or not all of it: the "
                "checkpoint was put together from different times; restore all of it"
            )
        writer.path.replace(dump_path(Path(self.folder), saved.stage, subtask))
        return saved.stage, subtask, writer.num_blobs, writer.num_bytes

    def _unsealed(self, sealed: bytes, subtask: int) -> SavedState:
        """What was saved of a subtask. A signature says of which stage it is, which nobody knows yet."""
        for stage in range(self.num_stages - 1):
            with contextlib.suppress(SnapshotError):
                return decode_subtask(unseal(sealed, state_of(SUBTASK, stage, subtask)))
        return decode_subtask(unseal(sealed, state_of(SUBTASK, self.num_stages - 1, subtask)))


@dataclass(frozen=True, slots=True)
class Sharing:
    """From the dumps of all subtasks to what is left for the new ones; on workers."""

    number: int
    dumps: str
    folder: str
    before: bytes
    after: bytes

    def share(self, stage: int, subtask: int) -> tuple[int, int]:
        """Write the files of one new subtask. Returns how many blobs they hold, and how many bytes."""
        before: PhysicalPlan = cloudpickle.loads(self.before)
        after: PhysicalPlan = cloudpickle.loads(self.after)
        dumps = [
            Dump(path, stage, index)
            for index in range(before.parallelism)
            if (path := dump_path(Path(self.dumps), stage, index)).exists()
        ]
        own = MemoryBlobs()
        if dumps:
            state = BlobState(TableCache())
            state.begin(own)
            nowhere: StateBackend = _Nowhere()
            saved = Rescaling(before, after).stage(
                stage, [_saved(dump) for dump in dumps], lambda index: state if index == subtask else nowhere
            )
            whole = SavedState(
                stage, self.number, None, stage_formats(after, stage), {}, dict(saved[subtask].snapshot), state.finish()
            )
            own.put(SUBTASK, encode_subtask(b"", 0, whole))
        for dump in dumps:
            dump.close()
        blobs: dict[str, bytes] = own.snapshot()
        return len(blobs), _write_parts(Path(self.folder), stage, subtask, blobs)


def dump_path(folder: Path, stage: int, subtask: int) -> Path:
    return folder / f"{stage}-{subtask}.dump"


def _saved(dump: Dump) -> SavedSubtask:
    data = dump.get(SUBTASK)
    assert data is not None
    saved = decode_subtask(data)
    state = BlobState(TableCache(), saved.stores)
    state.begin(dump)
    return SavedSubtask(saved.subtask, state)


def _part_file(folder: Path, stage: int, subtask: int, part: int) -> KeptFile:
    return KeptFile(folder / f"{stage}-{subtask}-{part}.state", "rescaled_state")


def _write_parts(folder: Path, stage: int, subtask: int, blobs: dict[str, bytes]) -> int:
    parts: list[list[bytes]] = [[]]
    size = 0
    for name, data in blobs.items():
        if size > _PART_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(framed(name, data))
        size += len(data)
    # The first is written last: it says how many there are.
    for number, part in reversed(list(enumerate(parts))):
        head = [_COUNT.pack(len(parts))] if number == 0 else []
        _part_file(folder, stage, subtask, number).write(b"".join(head + part))
    return sum(map(len, blobs.values()))


class _Nowhere:
    """The state of subtasks that somebody else shares out."""

    def __init__(self) -> None:
        self.tables = TableCache()

    def of_operator(self, uid: str) -> OperatorState:
        return OperatorState(_NoKeys(), _NoTimers(), _NoTimers(), _NoBlobs())


class _NoKeys:
    def load(self, key: Any) -> Slots:
        return {}

    def discard(self, key: Any) -> None: ...

    def keys(self) -> Iterator[Any]:
        return iter(())


class _NoTimers:
    def __len__(self) -> int:
        return 0

    def add(self, timestamp: int, key: Any, namespace: Any) -> None: ...

    def remove(self, timestamp: int, key: Any, namespace: Any) -> None: ...

    def pop_until(self, timestamp: int) -> Timer | None:
        return None

    def next_timestamp(self) -> int | None:
        return None


class _NoBlobs:
    def get(self, name: str, *, is_there: bool = False) -> bytes | None:
        return None

    def put(self, name: str, data: bytes) -> None: ...

    def remove(self, name: str) -> None: ...
