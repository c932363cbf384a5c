"""What each package exports, compared with `exports.txt`.

After a change on purpose, write the file anew with `python tests/architecture/test_exports.py` and commit it.
"""

import ast
import importlib
from collections.abc import Sequence
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
GOLDEN = Path(__file__).with_name("exports.txt")
PACKAGES = sorted((SRC / "tidegate").rglob("__init__.py"))


def package_name(path: Path) -> str:
    return ".".join(path.parent.relative_to(SRC).parts)


def groups_of_all(source: str) -> list[list[str]] | None:
    """The names in `__all__`, cut where a blank or comment line stands; None if the module has no `__all__`."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            assert isinstance(node.value, ast.List), "__all__ must be a list of names"
            return _cut(node.value.elts, source.splitlines())
    return None


def _cut(elements: Sequence[ast.expr], lines: Sequence[str]) -> list[list[str]]:
    groups: list[list[str]] = []
    last_line = 0
    for element in elements:
        assert isinstance(element, ast.Constant), "__all__ must hold plain names"
        assert isinstance(element.value, str), "__all__ must hold plain names"
        between = [line.strip() for line in lines[last_line : element.lineno - 1]]
        if not groups or any(not line or line.startswith("#") for line in between):
            groups.append([])
        groups[-1].append(element.value)
        last_line = element.lineno
    return groups


def public_names(source: str) -> list[str]:
    return sorted(name for group in groups_of_all(source) or [] for name in group)


def listing() -> str:
    """One line per package and one per name, as `exports.txt` holds it."""
    lines = []
    for path in PACKAGES:
        lines.append(package_name(path))
        lines += [f"    {name}" for name in public_names(path.read_text(encoding="utf-8"))]
    return "\n".join(lines) + "\n"


def test_exports_are_those_of_the_golden_file() -> None:
    assert listing() == GOLDEN.read_text(encoding="utf-8"), (
        "the exported names changed; if that is wanted, run: python tests/architecture/test_exports.py"
    )


@pytest.mark.parametrize("path", PACKAGES, ids=package_name)
def test_every_exported_name_exists(path: Path) -> None:
    package = importlib.import_module(package_name(path))
    missing = [name for name in public_names(path.read_text(encoding="utf-8")) if not hasattr(package, name)]
    assert missing == []


@pytest.mark.parametrize("path", PACKAGES, ids=package_name)
def test_exports_hold_no_private_and_no_double_names(path: Path) -> None:
    names = public_names(path.read_text(encoding="utf-8"))
    assert [name for name in names if name.startswith("_") and not name.startswith("__")] == []
    assert len(names) == len(set(names))


@pytest.mark.parametrize("path", PACKAGES, ids=package_name)
def test_exports_are_sorted_within_each_group(path: Path) -> None:
    for group in groups_of_all(path.read_text(encoding="utf-8")) or []:
        assert group == sorted(group)


@pytest.mark.parametrize("path", PACKAGES, ids=package_name)
def test_package_without_exports_brings_no_names_in(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    if groups_of_all(source) is None:
        bringing = ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef
        assert [node for node in ast.parse(source).body if isinstance(node, bringing)] == []


def test_comment_lines_cut_exports_into_groups() -> None:
    source = '__all__ = [\n    # streams\n    "B",\n    "C",\n    # functions\n    "A",\n]\n'
    assert groups_of_all(source) == [["B", "C"], ["A"]]
    assert groups_of_all('__all__ = ["B", "A"]') == [["B", "A"]]
    assert groups_of_all("x = 1") is None


if __name__ == "__main__":
    GOLDEN.write_text(listing(), encoding="utf-8")
