"""Spark's failures as ours: the operator and the record, once, without the noise."""

from __future__ import annotations

import re

from tidegate import errors
from tidegate.errors import TidegateError, UserCodeError

_OURS = re.compile(r"tidegate\.errors\.(\w+): (.*)")


def translate(error: BaseException) -> BaseException:
    """Our error inside a failure of Spark's, or the failure as it is named there."""
    text = str(error)
    found = _OURS.findall(text)
    if found:
        name, message = found[-1]
        kind = getattr(errors, name, UserCodeError)
        if isinstance(kind, type) and issubclass(kind, TidegateError):
            return kind(message.strip())
    return UserCodeError(f"the Spark query failed: {text.strip().splitlines()[0] if text.strip() else error!r}")
