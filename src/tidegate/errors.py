"""Everything Tidegate raises on purpose.

Every error is a `TidegateError` and also the builtin exception that it is, so both `except TidegateError` and
`except ValueError` do what a reader expects. A message says where, which rule, what was got and what to do.
"""

from __future__ import annotations


class TidegateError(Exception):
    """Base of all errors raised by Tidegate."""

    is_named = False
    """Whether the message says which operator it happened in."""

    def named(self, operator: str) -> TidegateError:
        """This error with the operator in its message, if that is not said yet."""
        if self.is_named:
            return self
        text = str(self)
        error = self if operator in text else type(self)(f"{operator}: {text}")
        error.is_named = True
        return error


class InvalidValueError(TidegateError, ValueError):
    """An argument has the right type and a value that the rule does not allow."""


class InvalidTypeError(TidegateError, TypeError):
    """An argument or a value returned by user code has the wrong type."""


class UnknownChannelError(TidegateError, IndexError):
    """A channel or input index that the receiver does not have."""


class SnapshotError(TidegateError, ValueError):
    """A snapshot that this version cannot restore."""


class ClosedError(TidegateError, RuntimeError):
    """A call on something that was closed."""


class UserCodeError(TidegateError, RuntimeError):
    """A function of the user raised; the cause is chained and the message names the function and the record."""

    is_named = True


class UnsupportedError(TidegateError, AttributeError):
    """Something of Flink that Tidegate does not have, refused by name with what to use instead."""


class UnsupportedImportError(TidegateError, ImportError):
    """An import of something that PyFlink has and Tidegate does not, with the reason."""


class MissingLibraryError(TidegateError, ImportError):
    """A library that is installed only on request, with the command that installs it."""


class RuntimeFailedError(TidegateError, RuntimeError):
    """What runs the job failed: Spark, one of its processes, or a disk. The job may go on from its checkpoint."""


class DeliveryError(TidegateError, ConnectionError):
    """A sink could not deliver what it was given to the system behind it."""


class FetchError(TidegateError, ConnectionError):
    """A source could not read what it should from the system behind it."""
