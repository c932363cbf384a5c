"""PyFlink's `pyflink.datastream.output_tag`."""

from tidegate.core.operator.output_tag import DEAD_LETTERS, DeadLetter, OutputTag

__all__ = ["DEAD_LETTERS", "DeadLetter", "OutputTag"]
