"""PyFlink's `pyflink.datastream.connectors.number_seq`."""

from tidegate.datastream.sources import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
