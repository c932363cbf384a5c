"""Paths as PyFlink programs write them: texts, `file://` URIs, or `Path` objects."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tidegate.errors import InvalidTypeError, InvalidValueError


def as_local_path(path: Any, where: str) -> Path:
    """The path of a file or folder of this machine.

    >>> as_local_path("file:///data/words.txt", "FileSource").as_posix()
    '/data/words.txt'
    """
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise InvalidTypeError(f"{where}: expected the path of a file or folder, got {path!r}")
    text = os.fspath(path)
    if "://" not in text and not text.startswith("file:"):
        return Path(text)
    parts = urlsplit(text)
    if parts.scheme != "file":
        raise InvalidValueError(
            f"{where}: {text!r} is not a file of this machine; read and write others with Spark's DataFrames"
        )
    return Path(unquote(parts.path))
