"""PyFlink's `pyflink.datastream.timerservice`."""

from tidegate.core.process import FunctionTimers as TimerService

__all__ = ["TimerService"]
