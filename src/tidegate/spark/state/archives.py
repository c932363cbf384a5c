"""Archives on the import path of a Python worker, which Spark reads again for every task."""

from __future__ import annotations

import sys
from zipimport import zipimporter


def forget_archives() -> None:
    """Drop the finders of archives; the next import from one makes a new finder, from what is known of the archive.

    Spark tells all finders before every task that files may have changed. That of an archive reads its whole directory
    then: for `pyspark.zip` longer than a small batch needs in Python.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
