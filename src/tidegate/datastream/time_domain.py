"""PyFlink's `pyflink.datastream.time_domain`."""

from tidegate.core.process import TimeDomain

__all__ = ["TimeDomain"]
