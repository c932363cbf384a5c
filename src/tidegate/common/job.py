"""What a job is called, how it fares and what it leaves behind."""

from __future__ import annotations

import enum
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.errors import InvalidTypeError, InvalidValueError


class JobStatus(enum.Enum):
    """Where a job stands."""

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    RECONCILING = 9

    def is_terminal_state(self) -> bool:
        """Whether this process will do nothing more for the job.

        >>> JobStatus.SUSPENDED.is_terminal_state(), JobStatus.SUSPENDED.is_globally_terminal_state()
        (True, False)
        """
        return self is JobStatus.SUSPENDED or self.is_globally_terminal_state()

    def is_globally_terminal_state(self) -> bool:
        """Whether nobody will do anything more for the job: it failed, was cancelled or finished."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)


@dataclass(frozen=True, slots=True)
class JobID:
    """The name of one run of a job; `str` gives it as text. On Spark it is the id of the streaming query."""

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text:
            raise InvalidValueError(f"JobID: expected text that is not empty, got {self.text!r}")

    @staticmethod
    def generate() -> JobID:
        """A new id, 32 hexadecimal digits.

        >>> len(str(JobID.generate()))
        32
        """
        return JobID(uuid.uuid4().hex)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class JobExecutionResult:
    """What a finished job leaves behind: `net_runtime` in milliseconds, and its accumulators by name.

    >>> print(JobExecutionResult(JobID("a1"), 250, {"lines": 3}))
    job a1 finished after 250 ms
    """

    job_id: JobID
    net_runtime: int
    accumulators: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.job_id, JobID):
            raise InvalidTypeError(f"JobExecutionResult: expected a JobID, got {self.job_id!r}")

    def get_job_id(self) -> JobID:
        return self.job_id

    def get_net_runtime(self) -> int:
        return self.net_runtime

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """The accumulator of that name, or None if the job had none."""
        return self.accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        return dict(self.accumulators)

    def __str__(self) -> str:
        return f"job {self.job_id} finished after {self.net_runtime} ms"
