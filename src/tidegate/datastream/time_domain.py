"""PyFlink's `pyflink.datastream.time_domain`."""

from tidegate.core.function.process import TimeDomain

__all__ = ["TimeDomain"]
