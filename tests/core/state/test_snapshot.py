from __future__ import annotations

import pytest

from tidegate.core.state.snapshot import make_snapshot, open_snapshot
from tidegate.errors import SnapshotError


def test_a_snapshot_is_taken_back_by_its_own_kind_and_version() -> None:
    snapshot = make_snapshot("valve", 1, last_output=5)
    assert open_snapshot(snapshot, "valve", 1)["last_output"] == 5


def test_a_snapshot_of_another_kind_is_refused() -> None:
    with pytest.raises(
        SnapshotError, match="expected a snapshot of 'valve', got one of 'emitter': it belongs to another operator"
    ):
        open_snapshot(make_snapshot("emitter", 1), "valve", 1)


def test_a_snapshot_of_another_version_is_refused() -> None:
    with pytest.raises(
        SnapshotError,
        match="snapshot of 'valve' has version 2, this Tidegate reads version 1; restore it with the Tidegate that",
    ):
        open_snapshot(make_snapshot("valve", 2), "valve", 1)


def test_what_is_no_snapshot_is_refused() -> None:
    with pytest.raises(SnapshotError, match="expected a snapshot of 'valve', got one of None"):
        open_snapshot({}, "valve", 1)
