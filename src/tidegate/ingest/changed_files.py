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


def renamed_file(before: str, after: Path) -> InvalidValueError:
    """The error for a file that is known by another name."""
    return InvalidValueError(
        f"FileSource: {before} was renamed to {after} and would be read twice; give it its name back, or say "
        'on_changed_file="read" if it is to be read again'
    )
