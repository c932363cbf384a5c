"""Where PyFlink programs import `JobID` from."""

from tidegate.common.job import JobID

__all__ = ["JobID"]
