"""Two jobs on one checkpoint: the second is refused, and the first loses nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.runtimes.conftest import Runtime, run_until

from tidegate.datastream import CollectSink
from tidegate.errors import SnapshotError


def test_a_second_job_on_a_checkpoint_is_refused(runtime: Runtime, tmp_path: Path) -> None:
    def start() -> CollectSink:
        env = runtime.environment(tmp_path / "checkpoint")
        results = CollectSink()
        env.from_range(0, 10**9).map(lambda number: number).sink_to(results)
        run_until(env, lambda: check(results))
        return results

    refused: list[str] = []

    def check(results: CollectSink) -> bool:
        if results.results and not refused:
            refused.append("now")
            with pytest.raises(SnapshotError, match=r"belongs to process .* which is running; two jobs on one"):
                start()
        return bool(refused)

    first = start()
    again = start()
    # What the first run gave does not come again.
    assert set(again.results).isdisjoint(first.results)
