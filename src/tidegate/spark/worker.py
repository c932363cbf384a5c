"""What Spark does in a Python worker around every task, and what it need not do for ours.

Both cost more than all the rest of a small batch in Python.
"""

from __future__ import annotations

import gc
import sys
from itertools import count
from typing import Final
from zipimport import zipimporter

_TASKS_THAT_IMPORT: Final = 3
_tasks = count(1)


def prepare_worker() -> None:
    """To be called at the beginning of a task."""
    _forget_archives()
    if next(_tasks) <= _TASKS_THAT_IMPORT:
        # Spark looks for garbage after every task, among all that was imported too. By now it has just done so.
        gc.freeze()


def _forget_archives() -> None:
    """Drop the finders of archives; the next import from one makes a new finder, from what is known of the archive.

    Spark tells all finders before every task that files may have changed. That of an archive reads its whole directory
    then, as that of `pyspark.zip`.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
