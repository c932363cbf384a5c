"""Looks for the damaged file in a checkpoint on which a query failed.

Of a file that it cannot read Spark often says no more than "Input length = 1". So when a query has failed, its files
are looked at here. Nothing is refused by this that Spark could read: it is asked after a failure only.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tidegate.errors import SnapshotError
from tidegate.spark.query.layout import QUERY, SPOOL
from tidegate.spark.sources.spool import read_rows, spooled

_LOGS: Final = ("offsets/[0-9]*", "commits/[0-9]*", "sources/*/[0-9]*", "state/*/_metadata/v*/[0-9]*")
"""Spark's own logs: a line with the version, then lines of JSON, or a dash where a source has no offset."""
_VERSION_LINE: Final = re.compile(r"v\d+")
_CHECKSUM_HEADER: Final = b"crc\x00"
_LARGEST: Final = 64 * 1024 * 1024
"""Larger files of state are not looked at."""


def find_damage(checkpoint: Path) -> str | None:
    """The first damaged file and what is wrong with it; None if all that are known look whole."""
    query = checkpoint / QUERY
    return next((found for found in (*_in_logs(query), *_in_checksums(query), *_in_spool(checkpoint / SPOOL))), None)


def _in_logs(query: Path) -> Iterator[str]:
    metadata = query / "metadata"
    if metadata.exists() and _is_broken_json(_text(metadata)):
        yield f"{metadata} is not JSON"
    for pattern in _LOGS:
        for path in sorted(query.glob(pattern)):
            version, _, rest = _text(path).partition("\n")
            if not _VERSION_LINE.fullmatch(version.strip()):
                yield f"{path} does not begin with its version"
            elif any(_is_broken_json(line) for line in rest.splitlines() if line.startswith(("{", "["))):
                yield f"{path} is cut off, or not JSON"


def _in_checksums(query: Path) -> Iterator[str]:
    """Hadoop keeps the checksum of a local file beside it."""
    for sums in sorted(query.rglob(".*.crc")):
        path = sums.with_name(sums.name[1 : -len(".crc")])
        if (
            path.exists()
            and path.stat().st_size <= _LARGEST
            and not _has_checksum(path.read_bytes(), sums.read_bytes())
        ):
            yield f"{path} does not have its checksum"


def _has_checksum(data: bytes, sums: bytes) -> bool:
    if not sums.startswith(_CHECKSUM_HEADER):
        return True
    size = int.from_bytes(sums[4:8], "big") or 512
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    return sums[8:] == b"".join(zlib.crc32(piece).to_bytes(4, "big") for piece in pieces)


def _in_spool(spool: Path) -> Iterator[str]:
    for _, path in spooled(spool) if spool.is_dir() else ():
        try:
            read_rows(path)
        except SnapshotError as error:
            yield str(error).partition(";")[0]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _is_broken_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return True
    return False
