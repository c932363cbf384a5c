"""A worker with another Tidegate than the driver's is told in one sentence; no JVM."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import cloudpickle
import pyarrow as pa
import pytest

from tidegate.errors import UserCodeError
from tidegate.spark.query.workers import check_workers

Probe = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class OneWorker:
    """Stands for a Spark session: what is sent to the worker runs here, and its failures come back as text."""

    def __init__(self, prepare: Callable[[], None] = lambda: None) -> None:
        self._prepare = prepare
        self.results: list[pa.RecordBatch] = []

    def range(self, end: int, *, numPartitions: int) -> OneWorker:  # noqa: N803
        self._batch = pa.record_batch({"id": list(range(end))})
        return self

    def mapInArrow(self, probe: Probe, schema: str) -> OneWorker:  # noqa: N802
        self._sent = cloudpickle.dumps(probe)
        return self

    def collect(self) -> None:
        try:
            self._prepare()
            self.results = list(cloudpickle.loads(self._sent)(iter([self._batch])))
        except Exception:
            raise RuntimeError(f"An exception was thrown from the Python worker:\n{traceback.format_exc()}") from None


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """From here on this Python has that version of Tidegate."""

    def install(found: str) -> None:
        monkeypatch.setattr("tidegate.spark.query.workers.version", lambda name: found)

    return install


def check(worker: Any) -> None:
    check_workers(worker)


def test_a_worker_with_the_same_version_answers() -> None:
    worker = OneWorker()
    check(worker)
    assert [batch.to_pydict() for batch in worker.results] == [{"id": [0]}]


@pytest.mark.parametrize(("driver", "found"), [("1.0.0", "0.9.0"), ("1.0.0", "1.0.1"), ("1.0.0", "1.0.0.dev1")])
def test_a_worker_with_another_version_is_told_with_both(
    install: Callable[[str], None], driver: str, found: str
) -> None:
    install(driver)
    with pytest.raises(UserCodeError) as caught:
        check(OneWorker(lambda: install(found)))
    assert str(caught.value) == (
        f"a Spark worker has Tidegate {found}, the driver has {driver}; install the same on every worker"
    )
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_it_is_the_version_of_tidegate_that_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def note(name: str) -> str:
        asked.append(name)
        return version(name)

    monkeypatch.setattr("tidegate.spark.query.workers.version", note)
    check(OneWorker())
    assert asked == ["tidegate", "tidegate"]


def test_another_failure_of_a_worker_is_told_in_one_sentence() -> None:
    def fail() -> None:
        raise OSError("no space left")

    with pytest.raises(UserCodeError) as caught:
        check(OneWorker(fail))
    assert str(caught.value).startswith("the Spark query failed: OSError: no space left; ")
