"""The life of a user's function: who opens it, and when it is closed."""

from __future__ import annotations

from typing import Any, Protocol

from tidegate.core.operator.runtime_context import RuntimeContext


class FunctionLife(Protocol):
    """Opens and closes functions for the operators that call them. Several operators may share one."""

    def open(self, function: Any, context: RuntimeContext) -> None:
        """Open a function unless it is open."""

    def close(self, function: Any) -> None:
        """Close a function unless it is closed."""


class LivesWithOperator:
    """A function is opened and closed with its operator."""

    def open(self, function: Any, context: RuntimeContext) -> None:
        open_function(function, context)

    def close(self, function: Any) -> None:
        close_function(function)


def open_function(function: Any, context: RuntimeContext) -> None:
    """Call `open` of a function that has one."""
    opener = getattr(function, "open", None)
    if callable(opener) and not isinstance(function, type):
        opener(context)


def close_function(function: Any) -> None:
    closer = getattr(function, "close", None)
    if callable(closer) and not isinstance(function, type):
        closer()
