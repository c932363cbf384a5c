"""`RunningJob`: a job, in a thread of its own, and what its user can do with it."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

from tidegate.common.completable_future import CompletableFuture
from tidegate.common.job_client import JobClient
from tidegate.common.job_execution_result import JobExecutionResult
from tidegate.common.job_id import JobID
from tidegate.common.job_status import JobStatus
from tidegate.errors import UnsupportedError

_LOGGER = logging.getLogger("tidegate")
_STOP_SECONDS: Final = 60
"""How long a stop waits for the job to end."""


class RunnableJob(Protocol):
    """What a runtime gives: a job that runs in the calling thread."""

    def run(self) -> None: ...

    def stop(self) -> None: ...

    def drain(self) -> None: ...

    def metrics(self) -> dict[str, list[dict[str, int]]]: ...


class RunningJob(JobClient):
    """A running job: look at it, stop it, drain it, wait for it. PyFlink's names are there too, with futures."""

    def __init__(
        self,
        job: RunnableJob,
        name: str,
        on_end: Callable[[], None] | None = None,
        *,
        on_success: Callable[[], None] | None = None,
        take_savepoint: Callable[[str | None], str] | None = None,
    ) -> None:
        """`take_savepoint` copies the checkpoint into a folder, or that of the environment; None where it cannot be."""
        self._take_savepoint = take_savepoint
        self._job = job
        self._name = name
        self._on_end = on_end
        self._on_success = on_success
        self._id = JobID.generate()
        self._status = JobStatus.CREATED
        self._error: BaseException | None = None
        self._started = time.monotonic()
        self._millis = 0
        self._is_stopping = False
        self.tells_failure = False
        """Whether a failure is told when it happens, because nobody may wait for the end."""
        # Waiting for the thread itself would not do: `join` that was interrupted takes it for ended (Python 3.11).
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"tidegate {name}", daemon=True)

    def start(self) -> RunningJob:
        self._status = JobStatus.RUNNING
        self._thread.start()
        return self

    def run(self) -> JobExecutionResult:
        """Run to the end; Ctrl-C stops cleanly.

        The job has a thread of its own, and this one only waits: an interrupt in the middle of a job would break what
        it is just doing, such as a call to Spark.
        """
        self.start()
        with _plain_interrupts():
            try:
                self._is_over.wait()
            except KeyboardInterrupt:
                self.stop()
                self._is_over.wait(_STOP_SECONDS)
                raise
        return self._result()

    def status(self) -> JobStatus:
        return self._status

    def metrics(self) -> dict[str, list[dict[str, int]]]:
        """The metrics of each operator by uid, a dict for each subtask."""
        return self._job.metrics()

    def stop(self) -> None:
        """Stop without ending time: open windows stay open. When this returns the checkpoint is complete."""
        self._is_stopping = True
        try:
            self._job.stop()
        finally:
            # Also behind a stop that failed: until then the checkpoint is still this run's.
            if threading.current_thread() is not self._thread and self._thread.is_alive():
                self._is_over.wait(_STOP_SECONDS)

    def drain(self) -> None:
        """End time: everything open fires, then the job is finished."""
        self._job.drain()

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        """Wait until the job is over; its error is raised here."""
        if not self._is_over.wait(timeout):
            raise TimeoutError(f"job {self._name!r} still runs after {timeout} s")
        return self._result()

    def get_job_id(self) -> JobID:
        return self._id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.completed(self._status)

    def cancel(self) -> CompletableFuture[None]:
        self.stop()
        return CompletableFuture.completed(None)

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        return CompletableFuture.completed({})

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Copy the checkpoint; the job makes a short pause between two batches."""
        if self._take_savepoint is None:
            raise UnsupportedError(
                "trigger_savepoint: a local job saves its state when it stops; stop() it, and copy its checkpoint"
            )
        return CompletableFuture.completed(self._take_savepoint(savepoint_directory))

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        if advance_to_end_of_event_time:
            raise UnsupportedError(
                "stop_with_savepoint: a job whose time has ended cannot go on, so there is nothing to keep; use drain()"
            )
        if self._take_savepoint is not None:
            self.stop()
        return self.trigger_savepoint(savepoint_directory)

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        future: CompletableFuture[JobExecutionResult] = CompletableFuture()

        def wait() -> None:
            try:
                future.set_result(self.wait())
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=wait, daemon=True).start()
        return future

    def _run(self) -> None:
        try:
            self._job.run()
            if self._on_success is not None:
                self._on_success()
            self._status = JobStatus.CANCELED if self._is_stopping else JobStatus.FINISHED
        except BaseException as error:
            self._error = error
            self._status = JobStatus.FAILED
            if self.tells_failure:
                _LOGGER.error("job %r failed: %s", self._name, error)
        finally:
            self._millis = int((time.monotonic() - self._started) * 1000)
            try:
                if self._on_end is not None:
                    self._on_end()
            finally:
                self._is_over.set()

    def _result(self) -> JobExecutionResult:
        if self._error is not None:
            raise self._error
        accumulators: dict[str, Any] = {}
        return JobExecutionResult(self._id, self._millis, accumulators)


@contextlib.contextmanager
def _plain_interrupts() -> Iterator[None]:
    """Ctrl-C is a `KeyboardInterrupt` and nothing else: PySpark's handler would stop the query before we say so."""
    handler = signal.getsignal(signal.SIGINT)
    is_pysparks = getattr(handler, "__module__", "").startswith("pyspark")
    if not is_pysparks or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
