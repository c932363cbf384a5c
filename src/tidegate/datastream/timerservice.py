"""PyFlink's `pyflink.datastream.timerservice`."""

from tidegate.core.function.process import FunctionTimers as TimerService

__all__ = ["TimerService"]
