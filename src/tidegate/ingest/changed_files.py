"""Files that are not as they were when they were found."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from tidegate.errors import InvalidValueError


class OnChangedFile(enum.Enum):
    """What happens to a file that is not as it was when it was found."""

    FAIL = "fail"
    """The job fails, and says which file it was."""
    SKIP = "skip"
    """What changed is not read; it is counted."""
    READ = "read"
    """It is read from its beginning, as a new file would be; it is counted."""

    @staticmethod
    def of(value: str) -> OnChangedFile:
        try:
            return OnChangedFile(value)
        except ValueError:
            raise InvalidValueError(f"FileSource: on_changed_file is 'fail', 'skip' or 'read', got {value!r}") from None


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What tells a file from one that has its name and other contents."""

    bytes: int
    modified: int
    """In nanoseconds."""

    @staticmethod
    def of(path: Path) -> FileStamp | None:
        """That of a file, None if it is not there."""
        try:
            found = path.stat()
        except FileNotFoundError:
            return None
        return FileStamp(found.st_size, found.st_mtime_ns)


def changed_file(path: str, before: FileStamp, after: FileStamp | None) -> InvalidValueError:
    """The error for a file that is not as it was when it was found."""
    what = "is gone" if after is None else f"has {after.bytes} bytes and had {before.bytes}"
    if after is not None and after.bytes == before.bytes:
        what = "was written again"
    return InvalidValueError(
        f"FileSource: {path} {what} since it was found, so what was read of it cannot be told from what was not; files "
        'must appear whole and stay as they are: put it back, or say on_changed_file="skip" or "read"'
    )


def gone_file(path: Path) -> InvalidValueError:
    """The error for a file that was found and is not there to be read."""
    return InvalidValueError(
        f"FileSource: {path} is gone since it was found, before it was read; put it back: a file may be deleted or "
        "moved when it was read, not before"
    )


class Changes:
    """What a source does about files that have changed, and how often it has come to that."""

    def __init__(self, rule: OnChangedFile) -> None:
        self._rule = rule
        self._ignored: dict[str, FileStamp | None] = {}
        self._num_read_again = 0

    @property
    def count(self) -> int:
        """How many changes were left out, or are read again."""
        return len(self._ignored) + self._num_read_again

    def is_to_be_read_again(self, path: str, before: FileStamp, after: FileStamp | None) -> bool:
        """A file is not as it was: whether it is to be read from its beginning."""
        if path in self._ignored and self._ignored[path] == after:
            return False
        match self._rule:
            case OnChangedFile.FAIL:
                raise changed_file(path, before, after)
            case OnChangedFile.SKIP:
                self._ignored[path] = after
                return False
            case OnChangedFile.READ:
                return after is not None

    def refuse_renamed(self, before: str, stamp: FileStamp, path: Path) -> None:
        """A file that was known under another name, as which it is no longer there, would be read twice."""
        is_the_same = stamp == FileStamp.of(path) and not Path(before).exists()
        if is_the_same and self._rule is OnChangedFile.FAIL:
            raise InvalidValueError(
                f"FileSource: {before} was renamed to {path} and would be read twice; give it its name back, or say "
                'on_changed_file="read" if it is to be read again'
            )

    def note_read_again(self) -> None:
        self._num_read_again += 1
