"""Where PyFlink programs import `JobStatus` from."""

from tidegate.common.job import JobStatus

__all__ = ["JobStatus"]
