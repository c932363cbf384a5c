"""`tidegate doctor`: what Tidegate needs on this machine, and how to get what is missing."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from tidegate.cli.failures import FAILURE

_JAVA_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)[^"]*"')
_INSTALL_JAVA: Final = (
    "install Java 17 or newer (Debian/Ubuntu: apt-get install openjdk-17-jre-headless, macOS: brew install openjdk@17)"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; `fix` is empty if all is well."""

    name: str
    found: str
    fix: str = ""

    @property
    def is_good(self) -> bool:
        return not self.fix


def check_python(version: tuple[int, ...] = sys.version_info[:3]) -> Finding:
    found = ".".join(map(str, version))
    fix = "" if version >= (3, 11) else "install Python 3.11 or newer and make a virtual environment with it"
    return Finding("Python", found, fix)


def check_java() -> Finding:
    """The Java that Spark would start: that of JAVA_HOME, else the one on the PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        command = Path(home) / "bin" / "java"
        if not command.exists():
            return Finding(
                "Java", f"JAVA_HOME={home} has no bin/java", "set JAVA_HOME to a Java 17 or newer, or unset it"
            )
        java = str(command)
    else:
        java = shutil.which("java") or ""
        if not java:
            return Finding("Java", "no java on the PATH, JAVA_HOME not set", _INSTALL_JAVA)
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("Java", f"{java} does not run ({error})", _INSTALL_JAVA)
    return java_finding(answer.stderr + answer.stdout, f"JAVA_HOME={home}" if home else java)


def java_finding(answer: str, place: str) -> Finding:
    """What `java -version` says."""
    match = _JAVA_VERSION.search(answer)
    if match is None:
        return Finding("Java", f"{place} says no version", _INSTALL_JAVA)
    version = match.group(1)
    return Finding("Java", f"{version} ({place})", "" if int(version) >= 17 else _INSTALL_JAVA)


def check_package(name: str, at_least: str, below: str | None = None) -> Finding:
    wanted = f"{name}>={at_least}" + (f",<{below}" if below else "")
    fix = f"pip install '{wanted}'"
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, "not installed", fix)
    is_good = _numbers(found) >= _numbers(at_least) and (below is None or _numbers(found) < _numbers(below))
    return Finding(name, found, "" if is_good else fix)


def check_import(name: str = "tidegate.spark.query.job") -> Finding:
    """Whether Tidegate and its Spark runtime can be imported."""
    try:
        importlib.import_module(name)
    except Exception as error:
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        return Finding("tidegate", text, "fix what is wrong above, then: pip install --force-reinstall tidegate")
    from tidegate import __version__

    return Finding("tidegate", __version__)


CHECKS: Final[tuple[Callable[[], Finding], ...]] = (
    check_python,
    check_java,
    lambda: check_package("pyspark", "4.2"),
    lambda: check_package("pyarrow", "18"),
    lambda: check_package("pandas", "2.2", below="3"),
    lambda: check_package("protobuf", "6.33.5"),
    check_import,
)


def doctor() -> None:
    """Check Python, Java, PySpark and the versions of packages, and say how to fix each."""
    findings = [check() for check in CHECKS]
    console = Console(highlight=False)
    console.print(table(findings))
    bad = [finding for finding in findings if not finding.is_good]
    if not bad:
        console.print("All is well. Try: tidegate demo")
        return
    for finding in bad:
        console.print(f"{finding.name}: {finding.fix}", style="red", soft_wrap=True, markup=False)
    raise typer.Exit(FAILURE)


def table(findings: list[Finding]) -> Table:
    result = Table(box=box.SIMPLE, pad_edge=False)
    result.add_column("", no_wrap=True)
    result.add_column("what", no_wrap=True)
    result.add_column("found", overflow="fold")
    for finding in findings:
        mark = "[green]ok[/]" if finding.is_good else "[bold red]fix[/]"
        result.add_row(mark, finding.name, finding.found)
    return result


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version; 7.36.2rc1 is (7, 36, 2)."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match.group().split("."))) if match else ()
