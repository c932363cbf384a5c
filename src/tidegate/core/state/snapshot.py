"""The form of snapshots: plain data with a kind and a version, checked before it is restored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.errors import SnapshotError

Snapshot = dict[str, Any]
"""Nested dicts, lists, strings, integers, booleans and None; values of the user's own may be inside."""


def make_snapshot(kind: str, version: int, **fields: Any) -> Snapshot:
    """A snapshot of `kind` that `open_snapshot` with the same kind and version takes back."""
    return {"kind": kind, "version": version, **fields}


def open_snapshot(snapshot: Mapping[str, Any], kind: str, version: int) -> Mapping[str, Any]:
    """The fields of a snapshot, after its kind and version were checked."""
    found = snapshot.get("kind")
    if found != kind:
        raise SnapshotError(f"expected a snapshot of {kind!r}, got one of {found!r}: it belongs to another operator")
    if snapshot.get("version") != version:
        raise SnapshotError(
            f"snapshot of {kind!r} has version {snapshot.get('version')!r}, this Tidegate reads version {version}; "
            "restore it with the Tidegate that wrote it"
        )
    return snapshot
