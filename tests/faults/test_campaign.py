"""A short campaign: the whole one is `make faults`."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.faults.campaign.__main__ import run_episode
from tests.faults.campaign.episode import Below, Episode, Victims
from tests.faults.campaign.kinds import all_kinds

pytestmark = pytest.mark.spark

KINDS = ("kill -9 of the driver and all of its processes", "kill -9 of the planner", "power cut", "an older copy")


def test_a_job_that_is_killed_cut_off_and_restored_from_a_copy_gives_the_answer_from_its_whole_input(
    tmp_path: Path,
) -> None:
    seed = int(os.environ.get("TIDEGATE_SEED", str(time.time_ns() % 100_000)))
    below = Below(tmp_path / "below")
    kinds = all_kinds(has_below=below.is_there, has_cluster=False)
    faults = [(name, kind) for name, kind, _ in kinds if name.startswith(KINDS)]
    victims = Victims(tmp_path, below)
    try:
        episode = Episode(tmp_path / "job", random.Random(seed), victims)
        assert run_episode(episode, faults, Counter()) == [], f"TIDEGATE_SEED={seed}"
    finally:
        victims.forget()
