from __future__ import annotations

import pytest


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every element is a batch of its own."""
    monkeypatch.setattr("tidegate.local.job._READ_AT_ONCE", 1)
