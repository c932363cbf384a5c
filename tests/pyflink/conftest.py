"""Programs as PyFlink's users write them, with `tidegate` in the imports; they run in this process."""

import pytest


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_RUNTIME", "local")
