"""Where PyFlink programs import `JobExecutionResult` from."""

from tidegate.common.job import JobExecutionResult

__all__ = ["JobExecutionResult"]
