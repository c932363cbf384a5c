"""Spark's failures as ours: the operator and the record, once, without the noise."""

from __future__ import annotations

import re
from pathlib import Path

from tidegate import errors
from tidegate.errors import SnapshotError, TidegateError, UserCodeError
from tidegate.spark.query.damage import find_damage

_OURS = re.compile(r"tidegate\.errors\.(\w+): (.*)")
_PYTHON = re.compile(r"^(\w+(?:\.\w+)*(?:Error|Exception)): (.*)$", re.MULTILINE)
_NO_LIBRARY = re.compile(r"No module named '(tidegate[\w.]*|cloudpickle)'")
_LOADING = re.compile(
    r"\[CANNOT_LOAD_STATE_STORE|\[MALFORMED_LOG_FILE|Failed to read log file|\[CANNOT_READ_CHECKPOINT"
)
_IN_JAVA = re.compile(r"^(?:py4j\.protocol\.Py4JJavaError: .*\n)?: (?:\w+\.)*(\w+): (.*)$", re.MULTILINE)
_PREFIX = re.compile(r"^'?\[STREAM_FAILED\] Query \[[^\]]*\] terminated with exception: ")
_STATE = re.compile(r"(?: SQLSTATE: \w+)+'?$")
_FRAME = re.compile(r'^ +File "(?P<path>[^"]+)", line \d+, in .+(?:\n +(?!File )\S.*)?', re.MULTILINE)
_NOT_THE_USERS = re.compile(
    r"pyspark[/.]|/py4j/|/tidegate/(core|engine|spark|datastream|graph|ingest|common|local|storage|testing)/|^<frozen"
)
_WHAT_TO_DO = "restore the folder from a copy, or start from a new checkpoint"


def translate(error: BaseException, checkpoint: Path | None = None) -> BaseException:
    """Our error inside a failure of Spark's; or what is wrong with the checkpoint; or what was said, in one line."""
    if isinstance(error, TidegateError):
        return error
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
            return _with_place(kind(message.strip()), text)
    damage = _translate_checkpoint(text, checkpoint)
    return damage or _with_place(UserCodeError(f"the Spark query failed: {_reason(error)}"), text)


def _with_place(error: TidegateError, text: str) -> TidegateError:
    """The error with a note of where it happened on the worker: the lines of the user's own code."""
    frames = [found[0] for found in _FRAME.finditer(text) if not _NOT_THE_USERS.search(found["path"])]
    if frames:
        error.add_note("On the worker, in your code:\n" + "\n".join(dict.fromkeys(frames)))
    return error


def _translate_checkpoint(text: str, checkpoint: Path | None) -> SnapshotError | None:
    """What is wrong with the checkpoint, None if nothing is known to be."""
    damage = None if checkpoint is None else find_damage(checkpoint)
    if damage is None and not _LOADING.search(text):
        return None
    where = "" if checkpoint is None else f" {checkpoint}"
    return SnapshotError(f"the checkpoint{where} cannot be read: {damage or _said(text)}; {_WHAT_TO_DO}")


def _reason(error: BaseException) -> str:
    text = str(error).strip()
    said = _PYTHON.findall(text)
    if said and not said[-1][0].startswith("py4j."):
        name, message = said[-1]
        return f"{name}: {message.strip()}"
    return _said(text) or repr(error)


def _said(text: str) -> str:
    """What Spark says is the reason: the first line, or that of the Java exception behind a call from Python."""
    if in_java := _IN_JAVA.search(text):
        name, message = in_java.groups()
        line = message if message.startswith("[") else f"{name}: {message}"
    else:
        line = _PREFIX.sub("", text.strip().partition("\n")[0])
    return _STATE.sub("", line).strip()


def is_transient(error: BaseException) -> bool:
    """Whether the job is not to blame: on a busy machine a worker came too late."""
    return "Python worker failed to connect back" in str(error)
