"""`JobClient`: what every running job answers to, whichever runtime runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NoReturn

from tidegate.common.completable_future import CompletableFuture
from tidegate.common.job import JobExecutionResult, JobID, JobStatus
from tidegate.errors import UnsupportedError


class JobClient(ABC):
    """A running job, as `execute_async` returns it. Each answer is a future, as in PyFlink.

    There are no savepoints: a job on Spark resumes from its checkpoint directory.
    """

    @abstractmethod
    def get_job_id(self) -> JobID:
        """The id of this run."""

    @abstractmethod
    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Where the job stands now."""

    @abstractmethod
    def cancel(self) -> CompletableFuture[None]:
        """Stop the job; what is in flight is not waited for."""

    @abstractmethod
    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """The accumulators as they stand now, by name."""

    @abstractmethod
    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """What the job leaves behind, once it has ended."""

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> NoReturn:
        raise UnsupportedError(
            "trigger_savepoint: there are no savepoints; a job goes on from its checkpoint directory"
        )

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> NoReturn:
        raise UnsupportedError(
            "stop_with_savepoint: there are no savepoints; call stop(), or drain() to end time, and go on from the "
            "checkpoint directory"
        )
