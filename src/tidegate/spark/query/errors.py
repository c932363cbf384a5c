"""Spark's failures as ours: the operator and the record, once, without the noise."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from tidegate import errors
from tidegate.errors import RuntimeFailedError, SnapshotError, TidegateError, UserCodeError
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
_FAILURES = (
    (
        re.compile(r"No space left on device|Disk quota exceeded|Read-only file system|Input/output error"),
        "a disk that the job writes to cannot take more ({})",
    ),
    (
        re.compile(
            r"Answer from Java side is empty|\[Errno 111\] Connection refused"
            r"|Error while (?:sending|receiving|obtaining)|StatusCode\.UNAVAILABLE"
            r"|SparkContext was shut down|SparkContext has been stopped"
        ),
        "Spark itself has ended: its process was killed, ran out of memory, or the session was stopped ({})",
    ),
    (
        re.compile(
            r"Python worker exited unexpectedly[^\n]*|ExecutorLostFailure[^\n]*|^(?:\[STREAM_FAILED\][^\n]*: )?"
            r"(?:Broken pipe|Connection reset(?: by peer)?|java\.io\.EOFException)",
            re.MULTILINE,
        ),
        "a process of Spark's that runs Python has ended: it was killed, crashed, or ran out of memory ({})",
    ),
)
"""What can happen to a job that is not its fault, and how it is said."""
_WHAT_TO_DO = "restore the folder from a copy, or start from a new checkpoint"


def translate(error: BaseException, checkpoint: Path | None = None) -> BaseException:
    """A failure of Spark's as ours, in one sentence: what happened, whether the checkpoint is good, what to do.

    It may be an error of ours inside; a process or a disk that failed; a checkpoint that cannot be read; or something
    else that was said. `checkpoint` is None if the job has none that it could go on from.
    """
    if isinstance(error, TidegateError):
        return error
    text = _text(error)
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
    for pattern, sentence in () if _LOADING.search(text) else _FAILURES:
        if said := pattern.search(text):
            return RuntimeFailedError(
                f"{sentence.format(_PREFIX.sub('', said[0].strip()))}; {_how_to_go_on(checkpoint)}"
            )
    if isinstance(error, OSError):
        return RuntimeFailedError(f"a file of the job cannot be read or written ({text}); {_how_to_go_on(checkpoint)}")
    damage = _translate_checkpoint(text, checkpoint)
    return damage or _with_place(
        UserCodeError(f"the Spark query failed: {_reason(error)}; {_how_to_go_on(checkpoint)}"), text
    )


@contextlib.contextmanager
def told_by_us(checkpoint: Path | None) -> Iterator[None]:
    """What fails in here of files and connections is told as a failure of Spark's is."""
    try:
        yield
    except OSError as error:
        raise translate(error, checkpoint) from error


def _text(error: BaseException) -> str:
    """Everything that is known of a failure: Spark's exceptions may say nothing and have a cause that does."""
    causes = [error, *(cause for cause in (error.__cause__, getattr(error, "_cause", None)) if cause is not None)]
    said = [str(cause) or repr(cause) for cause in causes]
    return "\n".join([*said, str(getattr(error, "_stackTrace", None) or "")]).strip()


def _how_to_go_on(checkpoint: Path | None) -> str:
    if checkpoint is None:
        return "the job had no checkpoint to go on from: see to that, and run it again from the beginning"
    return f"the checkpoint {checkpoint} is good up to its last batch: see to that, and run the job again"


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
