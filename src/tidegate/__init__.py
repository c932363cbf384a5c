"""Flink-grade event time for Apache Spark, in Python."""

from tidegate import _refused

__version__ = "0.1.0"

__all__ = ["__version__"]

_refused.install()
