"""Which files a source has found, in the order in which they are read: what the offsets of a query count."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tidegate.errors import SnapshotError
from tidegate.ingest.column_files import ColumnFiles, Limits

Offset = dict[str, int]
"""How many files of each channel have been read."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file with what it says of itself; `lowest` and `highest` are its times, None if it does not say."""

    channel: str
    path: str
    bytes: int
    rows: int | None = None
    lowest: int | None = None
    highest: int | None = None


class FileLog:
    """Files are numbered for each channel when they are found, and written down before they count.

    So a batch that comes again reads the same files, whatever has appeared beside them since.
    """

    def __init__(self, path: Path, source: ColumnFiles, time_column: str | None = None) -> None:
        self._path = path
        self._source = source
        self._time_column = time_column
        self._known: set[str] = set()
        self.files: dict[str, list[FoundFile]] = defaultdict(list)
        for file in self._load():
            self._add(file)

    def discover(self) -> None:
        """Look for new files."""
        new = [self._found(channel, path) for channel, path in self._source.files() if str(path) not in self._known]
        if not new:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as log:
            log.writelines(json.dumps(asdict(file)) + "\n" for file in new)
            log.flush()
            os.fsync(log.fileno())
        for file in new:
            self._add(file)

    def end(self) -> Offset:
        """Behind everything that was found."""
        return {channel: len(files) for channel, files in self.files.items()}

    def between(self, start: Mapping[str, int], end: Mapping[str, int]) -> list[tuple[int, FoundFile]]:
        """The files of a batch, each with its number in its channel."""
        found: list[tuple[int, FoundFile]] = []
        for channel, until in end.items():
            first = start.get(channel, 0)
            files = self.files[channel][first:until]
            if len(files) < until - first:
                raise SnapshotError(
                    f"{self._path} knows fewer files of {channel or 'the folder'} than the checkpoint has read; "
                    "restore all of the checkpoint, or start from a new one"
                )
            found += enumerate(files, first)
        return found

    def next_offset(
        self, start: Mapping[str, int], until: Mapping[str, int], limits: Limits, drift: int | None = None
    ) -> Offset:
        """How far a batch may read: channels in turn, a file each, within the limits and the drift."""
        offset = {channel: start.get(channel, 0) for channel in until}
        files, rows, size = 0, 0, 0
        while True:
            ready = [channel for channel in offset if offset[channel] < until[channel]]
            ready = self._aligned(ready, offset, drift)
            if not ready:
                return offset
            for channel in ready:
                file = self.files[channel][offset[channel]]
                files, rows, size = files + 1, rows + (file.rows or 0), size + file.bytes
                is_over = (
                    (limits.files is not None and files > limits.files)
                    or (limits.rows is not None and rows > limits.rows)
                    or (limits.bytes is not None and size > limits.bytes)
                )
                if is_over and files > 1:
                    return offset
                offset[channel] += 1

    def _aligned(self, ready: list[str], offset: Offset, drift: int | None) -> list[str]:
        """The channels that are not too far ahead of the lowest of those that have more to read."""
        if drift is None or not ready:
            return ready
        reached = {channel: self._reached(channel, offset[channel]) for channel in ready}
        lowest = min(reached.values())
        return [channel for channel in ready if reached[channel] <= lowest + drift]

    def _reached(self, channel: str, count: int) -> int:
        """The highest time among the files that a channel has read."""
        times = [file.highest for file in self.files[channel][:count] if file.highest is not None]
        return max(times, default=-(2**62))

    def _found(self, channel: str, path: Path) -> FoundFile:
        facts = self._source.format.facts(path, self._time_column)
        lowest, highest = (None, None) if facts.span is None else (_millis(time) for time in facts.span)
        return FoundFile(channel, str(path), path.stat().st_size, facts.rows, lowest, highest)

    def _add(self, file: FoundFile) -> None:
        self._known.add(file.path)
        self.files[file.channel].append(file)

    def _load(self) -> list[FoundFile]:
        if not self._path.exists():
            return []
        lines = self._path.read_text(encoding="utf-8").split("\n")
        # A crash may have cut the last line; what it named is found again.
        whole, rest = lines[:-1], lines[-1]
        try:
            found = [FoundFile(**json.loads(line)) for line in whole]
        except (ValueError, TypeError) as error:
            raise SnapshotError(f"{self._path} cannot be read ({error}); choose another checkpoint folder") from error
        if rest:
            self._path.write_text("".join(f"{line}\n" for line in whole), encoding="utf-8")
        return found


def _millis(time: Any) -> int:
    return int(time.timestamp() * 1_000) if hasattr(time, "timestamp") else int(time)
