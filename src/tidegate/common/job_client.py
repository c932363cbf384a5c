"""`JobClient`: what every running job answers to, whichever runtime runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from tidegate.common.completable_future import CompletableFuture
from tidegate.common.job import JobExecutionResult, JobID, JobStatus


class JobClient(ABC):
    """A running job, as `execute_async` returns it. Each answer is a future, as in PyFlink."""

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

    @abstractmethod
    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Copy the checkpoint of a job on Spark into a folder of savepoints; the path of the copy."""

    @abstractmethod
    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Stop without ending time, and then copy the checkpoint."""
