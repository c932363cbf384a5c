"""The shape of the repository: small files, and nothing that exists on one machine only."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 400
SOURCES = sorted((ROOT / "src").rglob("*.py"))

MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|root|home/[\w.-]+|Users/[\w.-]+|tmp/[\w.-]+)/")


def tracked_files() -> list[Path]:
    """The files that git knows, and the new ones that it does not ignore."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return sorted(ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file())


def machine_paths(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if MACHINE_PATH.search(line)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_source_file_is_not_too_long(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST, "look for the second concept in this file and give it its own"


def test_no_file_names_a_path_of_one_machine() -> None:
    found = {}
    for path in tracked_files():
        try:
            lines = machine_paths(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue
        if lines:
            found[str(path.relative_to(ROOT))] = lines
    assert found == {}


@pytest.mark.parametrize("folder", ["work", "root", "home/me", "Users/me", "tmp/x"])
def test_machine_path_is_found(folder: str) -> None:
    line = f"see /{folder}/file"
    assert machine_paths(f"first\n{line}\n") == [line]


@pytest.mark.parametrize("text", ["src/work/file", "https://example.com/work/", "/workshop/", "a/tmp/x", "~/work/x"])
def test_other_paths_are_accepted(text: str) -> None:
    assert machine_paths(text) == []
