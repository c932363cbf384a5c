"""The sinks' state in the driver, saved with its batch; no JVM."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.errors import SnapshotError
from tidegate.spark.query.batch_states import BatchStates

START = {"at": "start"}


def test_a_batch_that_comes_again_starts_from_the_state_before_it(tmp_path: Path) -> None:
    states = BatchStates(tmp_path / "s", START)
    for batch_id in range(3):
        states.save(batch_id, {"at": f"after {batch_id}"})
    restarted = BatchStates(tmp_path / "s", START)
    assert (restarted.last_batch, restarted.last) == (2, {"at": "after 2"})
    assert restarted.before(3) == {"at": "after 2"}
    assert restarted.before(2) == {"at": "after 1"}
    restarted.save(2, {"at": "again"})
    assert BatchStates(tmp_path / "s", START).before(2) == {"at": "after 1"}
    assert BatchStates(tmp_path / "s", START).last == {"at": "again"}


def test_the_first_batch_starts_from_the_beginning_again(tmp_path: Path) -> None:
    BatchStates(tmp_path / "s", START).save(0, {"at": "after 0"})
    assert BatchStates(tmp_path / "s", {"at": "other"}).before(0) == {"at": "start"}


def test_a_batch_from_before_the_known_states_is_refused(tmp_path: Path) -> None:
    states = BatchStates(tmp_path / "s", START)
    for batch_id in range(3):
        states.save(batch_id, {})
    with pytest.raises(SnapshotError, match="knows the sinks after batch 1, but batch 1 comes again"):
        states.before(1)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"half")
    with pytest.raises(SnapshotError, match=r"s cannot be read: .* choose another checkpoint folder"):
        BatchStates(tmp_path / "s", {})
