"""Where PyFlink programs import `Row` from."""

from tidegate.common.row import Row, RowKind

__all__ = ["Row", "RowKind"]
