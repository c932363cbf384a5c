"""A broker, for as long as a file of tests needs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.kafka.broker import Broker, fetch_jars


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    jars = fetch_jars()
    with Broker(tmp_path_factory.mktemp("kafka"), jars) as running:
        yield running
