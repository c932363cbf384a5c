"""Spark's failures as ours: the operator and the record, once, without the noise."""

from __future__ import annotations

import re

from tidegate import errors
from tidegate.errors import TidegateError, UserCodeError

_OURS = re.compile(r"tidegate\.errors\.(\w+): (.*)")
_PYTHON = re.compile(r"^(\w+(?:\.\w+)*(?:Error|Exception)): (.*)$", re.MULTILINE)
_NO_LIBRARY = re.compile(r"No module named '(tidegate[\w.]*|cloudpickle)'")


def translate(error: BaseException) -> BaseException:
    """Our error inside a failure of Spark's; or what Python or Spark said, in one line."""
    text = str(error)
    if missing := _NO_LIBRARY.search(text):
        return UserCodeError(
            f"a Spark worker cannot import {missing[1]!r}; install the same Tidegate on every worker, "
            "in the Python that PYSPARK_PYTHON names"
        )
    if found := _OURS.findall(text):
        name, message = found[-1]
        kind = getattr(errors, name, UserCodeError)
        if isinstance(kind, type) and issubclass(kind, TidegateError):
            return kind(message.strip())
    if said := _PYTHON.findall(text):
        name, message = said[-1]
        return UserCodeError(f"the Spark query failed: {name}: {message.strip()}")
    return UserCodeError(f"the Spark query failed: {text.strip().splitlines()[0] if text.strip() else error!r}")


def is_transient(error: BaseException) -> bool:
    """Whether the job is not to blame: on a busy machine a worker came too late."""
    return "Python worker failed to connect back" in str(error)
