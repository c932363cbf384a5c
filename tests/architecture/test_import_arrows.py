"""Who may import whom. The arrows point one way, and this fails when one turns round."""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
MODULES = sorted((SRC / "tidegate").rglob("*.py"))

EVERYTHING = frozenset({"*"})
ROOT = "tidegate"
"""The package's own `__init__`."""

MAY_IMPORT: Mapping[str, frozenset[str]] = {
    "errors": frozenset(),
    "_refused": frozenset({"errors"}),
    "agg": frozenset({"core"}),
    "core": frozenset({"errors"}),
    "graph": frozenset({"core", "errors"}),
    "common": frozenset({"core", "graph", "errors", "_refused"}),
    "datastream": frozenset({"core", "graph", "engine", "common", "ingest", "storage", "errors", "_refused"}),
    "storage": frozenset({"errors"}),
    "ingest": frozenset({"core", "errors"}),
    "engine": frozenset({"core", "graph", "ingest", "errors"}),
    "local": frozenset({"core", "graph", "engine", "ingest", "storage", "errors"}),
    "spark": frozenset({"core", "graph", "engine", "ingest", "storage", "errors"}),
    "testing": EVERYTHING,
    "cli": EVERYTHING,
    "dashboard": EVERYTHING,
    ROOT: frozenset({"core", "graph", "common", "datastream", "errors", "_refused"}),
}
MAY_IMPORT_INSIDE_A_FUNCTION: Mapping[str, frozenset[str]] = {
    "datastream": frozenset({"local", "spark"}),
}

CORE_LIBRARIES = frozenset({"numpy", "pyarrow"})
NOT_IN_CORE = frozenset(
    {
        *("time", "sched", "timeit"),
        *("io", "os", "pathlib", "shutil", "tempfile"),
        *("pyarrow.csv", "pyarrow.dataset", "pyarrow.fs", "pyarrow.parquet"),
        *("logging", "socket", "sqlite3", "subprocess", "urllib"),
        *("random", "secrets", "uuid", "numpy.random"),
        *("concurrent", "multiprocessing", "threading"),
    }
)
"""What reads a clock, opens files, talks to the outside, rolls dice or starts threads."""
CALLS_NOT_IN_CORE = frozenset({"open", "print", "input", "exec", "eval", "__import__"})
CLOCK_READINGS = frozenset({"now", "utcnow", "today"})


@dataclass(frozen=True, slots=True)
class Import:
    name: str
    line: int
    is_lazy: bool


def package_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ROOT


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.AST, module: str, *, is_package: bool, is_lazy: bool = False) -> Iterator[Import]:
    """Every import in full: `from tidegate.core import time` is `tidegate.core.time`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, is_lazy)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")
                parents = parents[: len(parents) - node.level + is_package]
                base = ".".join([*parents, *([base] if base else [])])
            for alias in node.names:
                yield Import(f"{base}.{alias.name}", node.lineno, is_lazy)
        else:
            inside = is_lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from imports(node, module, is_package=is_package, is_lazy=inside)


def broken_arrows(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """What is wrong with the imports of a module; each item names the line and the rule."""
    package = package_of(module)
    if package not in MAY_IMPORT:
        return [f"{module}: package {package!r} has no arrows yet; add it to MAY_IMPORT"]
    problems = []
    for found in imports(ast.parse(source), module, is_package=is_package):
        problem = _broken_inside(found, package) if _starts(found.name, "tidegate") else _broken_outside(found, package)
        if problem:
            problems.append(f"{module}:{found.line}: {problem}")
    return problems


def _broken_inside(found: Import, package: str) -> str | None:
    target = package_of(found.name)
    target = target if target in MAY_IMPORT else ROOT
    allowed = MAY_IMPORT[package]
    if found.is_lazy:
        allowed |= MAY_IMPORT_INSIDE_A_FUNCTION.get(package, frozenset())
    if target == package or target in allowed or allowed == EVERYTHING:
        return None
    return f"{package} may not import {found.name}"


def _broken_outside(found: Import, package: str) -> str | None:
    if _starts(found.name, "pyspark") and package != "spark":
        return "only tidegate.spark may import pyspark"
    if package == "core":
        library = found.name.partition(".")[0]
        if library not in sys.stdlib_module_names | CORE_LIBRARIES:
            return f"core may import only the standard library, numpy and pyarrow, not {library}"
        if any(_starts(found.name, name) for name in NOT_IN_CORE):
            return f"core may not import {found.name}: nothing in core reads a clock, opens a file or logs"
    return None


def _starts(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def impure_calls(source: str, module: str) -> list[str]:
    """Calls that read a clock, open a file, print, or use numpy's random numbers."""
    problems = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        parts = name.split(".")
        reads_clock = parts[-1] in CLOCK_READINGS and parts[0] in {"datetime", "date"}
        if name in CALLS_NOT_IN_CORE or reads_clock or name.startswith(("np.random.", "numpy.random.")):
            problems.append(f"{module}:{node.lineno}: core may not call {name}()")
    return problems


def test_there_are_modules_to_check() -> None:
    assert module_name(SRC / "tidegate" / "core" / "valve.py") in {module_name(path) for path in MODULES}


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_module_imports_along_the_arrows(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert broken_arrows(source, module_name(path), is_package=path.name == "__init__.py") == []


@pytest.mark.parametrize("path", [p for p in MODULES if package_of(module_name(p)) == "core"], ids=module_name)
def test_core_module_is_pure(path: Path) -> None:
    assert impure_calls(path.read_text(encoding="utf-8"), module_name(path)) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tidegate.core.watermark.valve", "import tidegate.graph.nodes"),
        ("tidegate.core.watermark.valve", "from tidegate import graph"),
        ("tidegate.core.watermark.valve", "from ...graph import nodes"),
        ("tidegate.core.watermark.valve", "from tidegate import __version__"),
        ("tidegate.core.watermark.valve", "import time"),
        ("tidegate.core.watermark.valve", "from os import path"),
        ("tidegate.core.watermark.valve", "def f():\n    import logging"),
        ("tidegate.core.watermark.valve", "if TYPE_CHECKING:\n    from threading import Lock"),
        ("tidegate.core.watermark.valve", "import pandas as pd"),
        ("tidegate.core.watermark.valve", "from numpy import random"),
        ("tidegate.core.watermark.valve", "import pyarrow.parquet as pq"),
        ("tidegate.graph.nodes", "from tidegate.datastream import DataStream"),
        ("tidegate.common.time", "from tidegate.datastream import DataStream"),
        ("tidegate.datastream.stream", "from tidegate.spark.query import Query"),
        ("tidegate.datastream.stream", "def f():\n    from tidegate.cli import main"),
        ("tidegate.local.runner", "from tidegate.common import Duration"),
        ("tidegate.local.runner", "from tidegate.spark import compiler"),
        ("tidegate.engine.subtask", "from tidegate.local import runner"),
        ("tidegate.engine.subtask", "import pyspark"),
        ("tidegate.storage.kept_file", "from tidegate.engine import plan"),
        ("tidegate.testing.harness", "import pyspark"),
        ("tidegate.cli.run", "def f():\n    from pyspark.sql import SparkSession"),
        ("tidegate.errors", "from tidegate.core.time.millis import MAX_TIME"),
        ("tidegate.surprise.module", ""),
    ],
)
def test_arrow_that_turns_round_is_found(module: str, source: str) -> None:
    assert len(broken_arrows(source, module)) == 1


def test_relative_import_in_a_package_counts_from_the_package() -> None:
    assert broken_arrows("from . import valve", "tidegate.core", is_package=True) == []
    assert len(broken_arrows("from .. import graph", "tidegate.core", is_package=True)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tidegate.core.watermark.valve", "import datetime\nimport numpy as np\nimport pyarrow as pa\nimport heapq"),
        ("tidegate.core.watermark.valve", "from tidegate.core import time\nfrom .records import Watermark"),
        ("tidegate.core.watermark.valve", "from tidegate.errors import TidegateError"),
        ("tidegate.graph.nodes", "from tidegate.core.watermark.strategy import WatermarkStrategy"),
        (
            "tidegate.datastream.stream",
            "def f():\n    from tidegate.spark import query\n    from tidegate import local",
        ),
        ("tidegate.spark.query", "import pyspark\nfrom tidegate.engine import plan"),
        ("tidegate.testing.harness", "from tidegate.local import runner\nimport time"),
        ("tidegate.cli.run", "from tidegate import __version__\nfrom tidegate.spark import query"),
    ],
)
def test_arrow_of_the_house_is_accepted(module: str, source: str) -> None:
    assert broken_arrows(source, module) == []


@pytest.mark.parametrize(
    "source",
    ["open('f')", "print(1)", "datetime.datetime.now()", "datetime.now(UTC)", "date.today()", "np.random.rand(3)"],
)
def test_impure_call_is_found(source: str) -> None:
    assert len(impure_calls(source, "tidegate.core.watermark.valve")) == 1


def test_pure_calls_are_accepted() -> None:
    source = "datetime.timedelta(seconds=1)\nself._clock()\nself.open(1)\nclock.now()"
    assert impure_calls(source, "tidegate.core.watermark.valve") == []
