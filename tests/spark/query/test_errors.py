"""Spark's failures as ours; no JVM."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from tidegate.engine.messages import Target, Tick
from tidegate.errors import InvalidValueError, RuntimeFailedError, SnapshotError, TidegateError, UserCodeError
from tidegate.spark.query.damage import find_damage
from tidegate.spark.query.errors import translate
from tidegate.spark.sources.spool import Spool

FAILED = "[STREAM_FAILED] Query [id = 1-2, runId = 3-4] terminated with exception: "
ANEW = "the job had no checkpoint to go on from: see to that, and run it again from the beginning"
FROM_JAVA = """An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
    raise Py4JJavaError(
py4j.protocol.Py4JJavaError: An error occurred while calling o320.collectToPython.
: org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state. \
SQLSTATE: 58030
\tat org.apache.spark.sql.Errors.cannotLoad(Errors.scala:1)
Caused by: java.io.EOFException
 SQLSTATE: 39000 SQLSTATE: XXKST
"""


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            "Traceback ...\ntidegate.errors.InvalidValueError: window: too late\n SQLSTATE: 39000",
            InvalidValueError,
            "window: too late",
        ),
        (
            "ModuleNotFoundError: No module named 'tidegate'",
            UserCodeError,
            "a Spark worker cannot import 'tidegate'; install the same Tidegate on every worker, in the Python that "
            "PYSPARK_PYTHON names",
        ),
        (f"{FAILED}\nValueError: 5 is odd\n", UserCodeError, f"the Spark query failed: ValueError: 5 is odd; {ANEW}"),
        (
            f"{FAILED}Input length = 1 SQLSTATE: XXKST\n=== Streaming Query ===",
            UserCodeError,
            f"the Spark query failed: Input length = 1; {ANEW}",
        ),
        (
            f"{FAILED}{FROM_JAVA}",
            SnapshotError,
            "the checkpoint cannot be read: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading "
            "state.; restore the folder from a copy, or start from a new checkpoint",
        ),
        (
            "An error occurred while calling o1.start.\n: java.io.IOException: No space left on device\n\tat java.io",
            RuntimeFailedError,
            f"a disk that the job writes to cannot take more (No space left on device); {ANEW}",
        ),
        (
            "[Errno 111] Connection refused",
            RuntimeFailedError,
            "Spark itself has ended: its process was killed, ran out of memory, or the session was stopped "
            f"([Errno 111] Connection refused); {ANEW}",
        ),
        (
            f"{FAILED}Broken pipe\n=== Streaming Query ===",
            RuntimeFailedError,
            "a process of Spark's that runs Python has ended: it was killed, crashed, or ran out of memory "
            f"(Broken pipe); {ANEW}",
        ),
        (
            "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\n\tat java",
            RuntimeFailedError,
            "a process of Spark's that runs Python has ended: it was killed, crashed, or ran out of memory "
            f"(Python worker exited unexpectedly (crashed)); {ANEW}",
        ),
    ],
)
def test_a_failure_of_spark_is_told_in_one_line(text: str, kind: type[TidegateError], message: str) -> None:
    error = translate(RuntimeError(text))
    assert type(error) is kind
    assert str(error) == message


def test_a_failure_says_whether_the_checkpoint_is_good(tmp_path: Path) -> None:
    class SilentError(Exception):
        _cause = RuntimeError("Python worker exited unexpectedly (crashed)")

    error = translate(SilentError(), checkpoint(tmp_path))
    assert type(error) is RuntimeFailedError
    assert str(error).endswith(
        f"; the checkpoint {tmp_path} is good up to its last batch: see to that, and run the job again"
    )


def test_an_error_of_ours_stays_as_it_is() -> None:
    error = SnapshotError("spool.note cannot be read")
    assert translate(error) is error


def checkpoint(folder: Path) -> Path:
    """The files of a query that has done one batch."""
    files = {
        "query/metadata": '{"id":"1-2"}',
        "query/offsets/0": 'v1\n{"batchWatermarkMs":0}\n{"logOffset":0}\n-',
        "query/commits/0": 'v1\n{"nextBatchWatermarkMs":0}',
        "query/sources/0/0": 'v1\n{"spool":{"next":1}}',
        "query/state/0/0/1.changelog": "LZ4Block",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    data = (folder / "query/state/0/0/1.changelog").read_bytes()
    sums = b"crc\x00" + (512).to_bytes(4, "big") + zlib.crc32(data).to_bytes(4, "big")
    (folder / "query/state/0/0/.1.changelog.crc").write_bytes(sums)
    Spool(folder / "spool", [7]).write({Target(0, 0): [Tick()]})
    return folder


def test_a_whole_checkpoint_has_no_damage(tmp_path: Path) -> None:
    assert find_damage(checkpoint(tmp_path)) is None
    assert find_damage(tmp_path / "nothing there") is None


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("query/metadata", b'{"id', "is not JSON"),
        ("query/offsets/0", b"", "does not begin with its version"),
        ("query/offsets/0", b'v1\n{"batchWatermarkMs":0}\n{"logOff', "is cut off, or not JSON"),
        ("query/commits/0", b"\x00\xff", "does not begin with its version"),
        ("query/sources/0/0", b'v1\n{"path', "is cut off, or not JSON"),
        ("query/state/0/0/1.changelog", b"LZ4Blocc", "does not have its checksum"),
        ("spool/000000000000.spool", b"", "cannot be read: it does not begin as a file of Tidegate does"),
    ],
)
def test_a_damaged_file_of_the_checkpoint_is_named(tmp_path: Path, name: str, data: bytes, what: str) -> None:
    (checkpoint(tmp_path) / name).write_bytes(data)
    error = translate(RuntimeError(f"{FAILED}Input length = 1"), tmp_path)
    assert type(error) is SnapshotError
    assert str(error) == (
        f"the checkpoint {tmp_path} cannot be read: {tmp_path / name} {what}; restore the folder from a copy, or start "
        "from a new checkpoint"
    )


def test_a_failure_in_a_function_says_the_users_line_once() -> None:
    traceback = """Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/pyspark/python/lib/pyspark.zip/pyspark/worker.py", line 4, in main
    process()
  File "/src/tidegate/core/function/stateless.py", line 20, in process_element
    value = self._map(value)
  File "/app/orders.py", line 12, in <lambda>
    .map(lambda order: 1 // order)
ZeroDivisionError: integer division by zero
tidegate.errors.UserCodeError: map: ZeroDivisionError: integer division by zero
"""
    error = translate(Exception(FAILED + traceback + traceback))
    assert error.__notes__ == [
        'On the worker, in your code:\n  File "/app/orders.py", line 12, in <lambda>\n'
        "    .map(lambda order: 1 // order)"
    ]
