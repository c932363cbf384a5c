"""What a Python worker need not do for every task."""

from __future__ import annotations

import gc
import importlib
import sys
import zipfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from zipimport import zipimporter

import pytest

from tidegate.spark.worker import prepare_worker


@pytest.fixture(autouse=True)
def new_worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A worker that has had no task yet; at the end nothing stays frozen."""
    monkeypatch.setattr("tidegate.spark.worker._tasks", count(1))
    gc.unfreeze()
    yield
    gc.unfreeze()


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An archive that modules are imported from."""
    path = tmp_path / "modules.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("module_in_archive.py", "number = 1")
        file.writestr("other_in_archive.py", "number = 2")
    monkeypatch.syspath_prepend(str(path))
    yield str(path)
    for name in ("module_in_archive", "other_in_archive"):
        sys.modules.pop(name, None)
    sys.path_importer_cache.pop(str(path), None)


def test_what_the_first_tasks_imported_is_not_searched_for_garbage_again() -> None:
    for _ in range(3):
        gc.unfreeze()
        prepare_worker()
        assert gc.get_freeze_count() > 0


def test_what_later_tasks_make_is_searched_for_garbage() -> None:
    for _ in range(3):
        prepare_worker()
    gc.unfreeze()
    for _ in range(3):
        prepare_worker()
        assert gc.get_freeze_count() == 0


def test_archives_are_not_read_again_before_every_task(archive: str) -> None:
    importlib.import_module("module_in_archive")
    assert isinstance(sys.path_importer_cache[archive], zipimporter)
    prepare_worker()
    assert not [finder for finder in sys.path_importer_cache.values() if isinstance(finder, zipimporter)]


def test_modules_of_an_archive_can_be_imported_afterwards(archive: str) -> None:
    importlib.import_module("module_in_archive")
    for _ in range(5):
        prepare_worker()
    assert importlib.import_module("other_in_archive").number == 2


def test_finders_of_folders_are_kept(archive: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "module_in_folder.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("module_in_folder")
    finder = sys.path_importer_cache[str(tmp_path)]
    prepare_worker()
    assert sys.path_importer_cache[str(tmp_path)] is finder
    del sys.modules["module_in_folder"]
