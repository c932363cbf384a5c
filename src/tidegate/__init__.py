"""Flink-grade event time for Apache Spark, in Python."""

__version__ = "0.1.0"

__all__ = ["__version__"]
