"""Part files: what file sinks write, each batch's files whole and once.

Writers, one in each subtask, let files grow under hidden names. The committer, with the driver, is told of them when a
batch is complete, and gives them their names. In between stands its journal in the same folder: a batch is committed
in the moment in which its files are in there.
"""

from __future__ import annotations

import functools
import glob
import hashlib
import json
import logging
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from tidegate.core.operator.sink import BatchId
from tidegate.errors import ClosedError, DeliveryError, InvalidTypeError, InvalidValueError, SnapshotError
from tidegate.storage.kept_file import KeptFile, flush_folder, flush_to_disk, make_folder, put_in_place, usable

_LOGGER = logging.getLogger("tidegate")
_MARK_LENGTH: Final = 12


@functools.lru_cache(maxsize=4096)
def bucket_folder(bucket: str) -> str:
    """The folder of a bucket, in the one form that it has: `de`, `de/` and `./de` are the same.

    >>> bucket_folder("country=de//day=1/")
    'country=de/day=1'
    """
    if not isinstance(bucket, str):
        raise InvalidTypeError(f"a bucket is the name of a folder, got {bucket!r}; give a text, '' for no folder")
    names = [name for name in bucket.split("/") if name not in ("", ".")]
    if bucket.startswith("/") or ".." in names:
        raise InvalidValueError(f"the bucket {bucket!r} is outside of the sink's folder; name a folder inside it")
    for name in names:
        if name.startswith((".", "_")):
            raise InvalidValueError(
                f"the bucket {bucket!r} has a folder {name!r}, which readers of files skip; begin it with another "
                "character than a dot or an underscore"
            )
    return "/".join(names)


@dataclass(frozen=True, slots=True)
class PartNames:
    """Where the files of a sink are, and what they are called."""

    folder: Path
    prefix: str = "part"
    suffix: str = ""

    def __post_init__(self) -> None:
        if not self.prefix or "/" in self.prefix + self.suffix or self.prefix.startswith((".", "_")):
            raise InvalidValueError(
                f"part files: the prefix {self.prefix!r} and the suffix {self.suffix!r} are parts of a file name; the "
                "prefix must not be empty nor begin with a dot or an underscore, for readers skip such files"
            )

    def hidden(self, writer: str) -> str:
        """A new name for a file that grows; `writer` says whose it is, if it may have to be found again."""
        return f".{self.prefix}-{_mark(writer)}-{uuid.uuid4().hex}.inprogress"

    def left_behind(self, writer: str) -> Iterator[Path]:
        """Files that a writer has let grow and that are not in place."""
        pattern = f".{glob.escape(self.prefix)}-{_mark(writer)}-*.inprogress"
        return self.folder.rglob(pattern) if writer else iter(())

    def stem(self, sink: str) -> str:
        """How the names of all files of a sink begin."""
        return f"{self.prefix}-{_mark(sink)}"


def _mark(name: str) -> str:
    """What stands for a name in those of files; one that is empty is another each time."""
    return (hashlib.sha256(name.encode()).hexdigest() if name else uuid.uuid4().hex)[:_MARK_LENGTH]


class PartFile(NamedTuple):
    """A file that is written and waits to be committed."""

    bucket: str
    name: str
    size: int


class PartWriter:
    """Lets files grow, one in each bucket, until the batch is complete."""

    def __init__(self, names: PartNames, writer: str = "") -> None:
        """`writer` names it among all that write to the folder, the same after a restart."""
        self._names = names
        self._writer = writer
        self._files: dict[str, tuple[Path, IO[bytes]]] = {}

    def file(self, bucket: str = "") -> IO[bytes]:
        """The file that grows in a bucket: a folder below that of the sink."""
        bucket = bucket_folder(bucket)
        known = self._files.get(bucket)
        if known is None:
            root = self._names.folder
            folder = (root / bucket).resolve()
            if not folder.is_relative_to(root.resolve()):
                raise InvalidValueError(f"the bucket {bucket!r} leads out of {root}; name a folder inside it")
            make_folder(folder)
            path = folder / self._names.hidden(self._writer)
            known = self._files[bucket] = (path, path.open("wb"))
        return known[1]

    def finish(self) -> Iterator[PartFile]:
        """The files that have grown, whole and on disk."""
        files, self._files = self._files, {}
        for bucket, (path, file) in files.items():
            flush_to_disk(file)
            size = file.tell()
            file.close()
            flush_folder(path.parent)
            yield PartFile(bucket, path.name, size)

    def discard(self) -> None:
        """Remove what has grown since."""
        for path, file in self._files.values():
            file.close()
            path.unlink(missing_ok=True)
        self._files.clear()


class PartCommitter:
    """Gives files their names when their batch is complete.

    `sink` names the sink among all that write to the folder, and must be the same after a restart; if it is empty the
    sink is a new one each time. `writers` are the names of those that let its files grow.

    A batch that was committed and comes again is not put in place again: it is known by what it was made of, not by
    its number. If a number comes again with another batch, its job goes on from an older copy of its checkpoint: what
    it had put in place since then is taken back, and written again. Whoever began a first batch last owns the folder:
    another that still runs, from another copy, commits nothing more.
    """

    def __init__(self, names: PartNames, sink: str = "", writers: Sequence[str] = ()) -> None:
        self._names = names
        self._writers = tuple(writers)
        self._stem = names.stem(sink)
        self._number = re.compile(re.escape(self._stem) + r"-(\d{8,})-\d+")
        self._journal = KeptFile(names.folder / f".{self._stem}.journal", "file_sink_journal", 2)
        self._owner = uuid.uuid4().hex
        self._batch: BatchId | None = None
        self._last = BatchId(-1)
        self._expected = BatchId(-1)
        self._is_repeated = False
        self._is_owner = False
        self._waiting: list[PartFile] = []

    def open(self) -> None:
        """Finish what a crash interrupted: what was committed gets its name."""
        with usable(self._names.folder, "FileSink: the folder"):
            make_folder(self._names.folder)
            self._read_journal()
        self._check_expected()

    def expect(self, batch: BatchId) -> None:
        """The last batch whose files were put in place, as far as the checkpoint knows: the folder must have it."""
        self._expected = batch

    @property
    def last(self) -> BatchId:
        """The last batch whose files were put in place."""
        return self._last

    def clean_up(self) -> None:
        """Remove what a run before has let grow and nobody will commit any more."""
        for writer in self._writers:
            for left in self._names.left_behind(writer):
                left.unlink(missing_ok=True)

    def begin(self, batch: BatchId) -> None:
        """Start a batch; what was written for one that was not committed goes."""
        self.discard()
        self._batch = batch
        if not self._is_owner:
            # Another run may have gone on until now.
            self._read_journal()
        self._is_repeated = batch == self._last and batch.token == self._last.token
        comes_again = batch <= self._last and not self._is_repeated
        if comes_again and not batch.undoes:
            raise SnapshotError(
                f"{self._names.folder} has files of batches {batch} to {self._last}, which came behind the savepoint "
                "that the job was started from: they would be there twice; restore the savepoint with --undo to let "
                "them be removed, or write to another folder"
            )
        if not self._is_owner:
            self._write_journal([])
            self._is_owner = True
        if comes_again:
            self._take_back(batch)

    def add(self, file: PartFile) -> None:
        """A file of the batch."""
        self._waiting.append(file)

    def commit(self) -> None:
        """Put the files of the batch in place. An empty batch leaves no file."""
        if self._batch is None:
            raise ClosedError(f"part files in {self._names.folder}: no batch has begun")
        if self._is_repeated:
            self.discard()
        if not self._waiting:
            return
        self._check_owner()
        for file in self._waiting:
            self._check(file)
        files = [
            [file.bucket, file.name, f"{self._stem}-{self._batch:08d}-{number}{self._names.suffix}"]
            for number, file in enumerate(self._waiting)
        ]
        self._last = self._batch
        self._write_journal(files)
        self._waiting.clear()
        for bucket, hidden, name in files:
            self._put_in_place(bucket, hidden, name)
        # From here on a reader may take them away.
        self._write_journal([])

    def discard(self) -> None:
        """Remove what was not committed."""
        for file in self._waiting:
            (self._names.folder / file.bucket / file.name).unlink(missing_ok=True)
        self._waiting.clear()

    def _read_journal(self) -> None:
        entry = self._journal.load(json.loads)
        if entry is not None:
            self._last = BatchId(entry["batch"], entry["token"])
            for bucket, hidden, name in entry["files"]:
                self._put_in_place(bucket, hidden, name)

    def _check(self, file: PartFile) -> None:
        path = self._names.folder / file.bucket / file.name
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            raise DeliveryError(
                f"the part file {path} is gone before it was committed: something else writes to, or cleans, the "
                "sink's folder, or workers do not see the folder that the driver sees; its batch is not committed, so "
                "see to that, and run the job again"
            ) from None
        if size != file.size:
            raise DeliveryError(
                f"the part file {path} has {size} bytes where {file.size} were written: something else writes to the "
                "sink's folder; its batch is not committed, so see to that, and run the job again"
            )

    def _check_owner(self) -> None:
        entry = self._journal.load(json.loads)
        if entry is None or entry["owner"] != self._owner:
            raise ClosedError(
                f"another run of this job, from another copy of its checkpoint, writes to {self._names.folder} now: "
                "this one commits nothing more; stop one of them"
            )

    def _take_back(self, batch: BatchId) -> None:
        """Remove what was put in place for batches that come again with other data."""
        self._check_owner()
        taken = [
            path
            for path in self._names.folder.rglob(f"{glob.escape(self._stem)}-*")
            if (found := self._number.match(path.name)) is not None and int(found[1]) >= batch
        ]
        _LOGGER.warning(
            "FileSink: the checkpoint is older than %s: %d files of batches %d to %d are taken back and written again",
            self._names.folder,
            len(taken),
            batch,
            self._last,
        )
        for path in taken:
            path.unlink(missing_ok=True)
        for folder in {path.parent for path in taken}:
            flush_folder(folder)
        self._last = BatchId(batch - 1)
        self._write_journal([])

    def _put_in_place(self, bucket: str, hidden: str, name: str) -> None:
        grown, named = self._names.folder / bucket / hidden, self._names.folder / bucket / name
        if grown.exists():
            put_in_place(grown, named)
        elif not named.exists():
            raise DeliveryError(
                f"the part file {grown}, which was committed, is gone before it was given its name {name}: something "
                "else writes to, or cleans, the sink's folder; put it back, or start from a new checkpoint and folder"
            )

    def _check_expected(self) -> None:
        """Refuse a folder that has not got what the checkpoint knows to be in it."""
        is_behind = self._last < self._expected
        is_another = self._last == self._expected and self._last.token != self._expected.token
        if is_behind or is_another:
            raise SnapshotError(
                f"{self._names.folder} lacks files of batches that the checkpoint has committed: it was restored from "
                "an older copy, or another copy of the checkpoint has written to it since; put both back as they were "
                "at one time, or start from a new checkpoint and folder"
            )

    def _write_journal(self, files: list[list[str]]) -> None:
        entry: dict[str, Any] = {"owner": self._owner, "batch": int(self._last), "token": self._last.token}
        self._journal.write(json.dumps(entry | {"files": files}).encode())
