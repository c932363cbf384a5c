"""A power cut: the folders of a job as a disk has them that lost everything that nobody had flushed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from tests.faults.campaign.episode import Episode

_SPARKS: Final = "query"
"""The folder that Spark writes by itself: what it flushes is its own affair."""


class Power:
    """Watches the folders of an episode from now on, and takes the power away.

    What is there now counts as flushed. `below.c` keeps what is flushed after that, by inode: the data of a file, the
    names in a folder. A file whose folder was not flushed since has no name yet, one that was not flushed has no data.
    """

    def __init__(self, episode: Episode) -> None:
        self._roots = [episode.checkpoint, episode.folder / "out"]
        self._shadow = episode.folder / "shadow"
        shutil.rmtree(self._shadow, ignore_errors=True)
        self._shadow.mkdir()
        for root in self._roots:
            root.mkdir(exist_ok=True)
            self._keep(root)
        control = episode.below.control
        control.prefix = str(episode.folder).encode()
        control.shadow = str(self._shadow).encode()
        control.keeps_flushed = 1
        self._below = episode.below

    def _keep(self, folder: Path) -> None:
        """A folder as it is now, with all that is below it."""
        entries = [entry for entry in folder.iterdir() if entry.name != _SPARKS]
        names = "".join(f"{entry.stat().st_ino} {entry.name}\n" for entry in entries)
        (self._shadow / str(folder.stat().st_ino)).write_text(names)
        for entry in entries:
            if entry.is_dir():
                self._keep(entry)
            else:
                shutil.copyfile(entry, self._shadow / str(entry.stat().st_ino))

    def cut(self) -> None:
        """Leave of the folders what was flushed."""
        self._below.reset()
        for root in self._roots:
            durable = root.with_name(f"{root.name}-durable")
            shutil.rmtree(durable, ignore_errors=True)
            self._rebuild(root.stat().st_ino, root, durable)
            if (root / _SPARKS).exists():
                (root / _SPARKS).rename(durable / _SPARKS)
            shutil.rmtree(root)
            durable.rename(root)
        shutil.rmtree(self._shadow)

    def _rebuild(self, inode: int, now: Path, durable: Path) -> None:
        """Make a folder from the names that were flushed; `now` is where it is, to tell folders from files."""
        durable.mkdir()
        listing = self._shadow / str(inode)
        folders = {path.stat().st_ino for path in now.rglob("*") if path.is_dir()} if now.exists() else set()
        for line in listing.read_text().splitlines() if listing.exists() else ():
            number, _, name = line.partition(" ")
            if name in (".", "..", _SPARKS):
                continue
            kept = self._shadow / number
            if int(number) in folders:
                self._rebuild(int(number), now / name, durable / name)
            elif kept.exists():
                shutil.copyfile(kept, durable / name)
            else:
                (durable / name).write_bytes(b"")
