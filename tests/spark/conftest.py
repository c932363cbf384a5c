"""One Spark session for the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tidegate.spark.session import get_session


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    session = get_session(None, 2)
    yield session
    session.stop()
