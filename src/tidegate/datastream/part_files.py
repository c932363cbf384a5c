"""Part files: what file sinks write, each batch's files whole and once."""

from __future__ import annotations

import functools
import hashlib
import json
import uuid
from pathlib import Path
from typing import IO

from tidegate.errors import ClosedError, DeliveryError, InvalidTypeError, InvalidValueError
from tidegate.storage.kept_file import KeptFile, flush_to_disk, put_in_place


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


class PartFiles:
    """Files under a folder, one for each batch and bucket, that appear when their batch is committed.

    A file grows under a hidden name (`.part-<writer>-<batch>.inprogress`) and is renamed when it is whole. The commit
    of a batch is the moment in which its list of files replaces the one before in the writer's journal; a crash after
    it leaves renames to be done, and the next `open` does them. A batch that was committed is not written again.

    `writer_id` names the writer among all that write to the folder, and must be the same after a restart; if it is
    empty the writer is a new one each time.
    """

    def __init__(self, folder: str | Path, writer_id: str = "", *, prefix: str = "part", suffix: str = "") -> None:
        if not prefix or "/" in prefix + suffix or prefix.startswith((".", "_")):
            raise InvalidValueError(
                f"part files: the prefix {prefix!r} and the suffix {suffix!r} are parts of a file name; the prefix "
                "must not be empty nor begin with a dot or an underscore, for readers skip such files"
            )
        self._folder = Path(folder)
        self._suffix = suffix
        token = hashlib.sha256(writer_id.encode()).hexdigest() if writer_id else uuid.uuid4().hex
        self._stem = f"{prefix}-{token[:12]}"
        self._journal = KeptFile(self._folder / f".{self._stem}.journal", "file_sink_journal")
        self._committed = -1
        self._batch: int | None = None
        self._files: dict[str, IO[bytes]] = {}

    @property
    def is_repeated(self) -> bool:
        """Whether the batch was committed before, so that nothing of it is written."""
        return self._batch is not None and self._batch <= self._committed

    def open(self) -> None:
        """Finish what a crash interrupted: commits are completed, everything else is removed."""
        self._folder.mkdir(parents=True, exist_ok=True)
        entry = self._journal.load(json.loads)
        if entry is not None:
            self._committed = int(entry["batch"])
            self._publish(self._committed, entry["buckets"])
        for leftover in self._folder.rglob(f".{self._stem}-*.inprogress"):
            leftover.unlink()

    def begin(self, batch_id: int) -> None:
        """Start a batch; what was written since the last commit goes."""
        self.discard()
        self._batch = batch_id

    def write(self, data: bytes, bucket: str = "") -> None:
        """Append to the batch's file in a bucket: a folder below ours, given relative to it."""
        if not self.is_repeated:
            self.file(bucket).write(data)

    def file(self, bucket: str = "") -> IO[bytes]:
        """The file that grows in a bucket."""
        bucket = bucket_folder(bucket)
        known = self._files.get(bucket)
        if known is None:
            if self._batch is None:
                raise ClosedError(f"part files in {self._folder}: no batch has begun")
            folder = (self._folder / bucket).resolve()
            if not folder.is_relative_to(self._folder.resolve()):
                raise InvalidValueError(f"the bucket {bucket!r} leads out of {self._folder}; name a folder inside it")
            folder.mkdir(parents=True, exist_ok=True)
            known = self._files[bucket] = self._hidden(self._batch, bucket).open("wb")
        return known

    def commit(self) -> None:
        """Make the batch's files visible. An empty batch leaves no file."""
        if self._batch is None or not self._files:
            return
        for bucket, file in self._files.items():
            flush_to_disk(file)
            file.close()
            hidden = self._hidden(self._batch, bucket)
            if not hidden.exists():
                raise DeliveryError(
                    f"the part file {hidden} is gone before it was committed: something else writes to, or cleans, the "
                    "sink's folder; its batch is not committed, so see to that, and run the job again"
                )
        self._journal.write(json.dumps({"batch": self._batch, "buckets": list(self._files)}).encode())
        self._committed = self._batch
        self._publish(self._batch, list(self._files))
        self._files.clear()

    def discard(self) -> None:
        """Remove what was not committed."""
        for bucket, file in self._files.items():
            file.close()
            assert self._batch is not None
            self._hidden(self._batch, bucket).unlink(missing_ok=True)
        self._files.clear()

    def _publish(self, batch_id: int, buckets: list[str]) -> None:
        for bucket in buckets:
            hidden = self._hidden(batch_id, bucket)
            if hidden.exists():
                put_in_place(hidden, self._folder / bucket / f"{self._stem}-{batch_id:08d}{self._suffix}")

    def _hidden(self, batch_id: int, bucket: str) -> Path:
        return self._folder / bucket / f".{self._stem}-{batch_id:08d}.inprogress"
