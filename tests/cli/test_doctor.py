"""`tidegate doctor`: each check, and the command."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tidegate.cli import doctor
from tidegate.cli.app import app
from tidegate.cli.doctor import Finding, check_import, check_java, check_package, check_python, java_finding


@pytest.mark.parametrize(("version", "is_good"), [((3, 10, 9), False), ((3, 11, 0), True), ((3, 14, 1), True)])
def test_python_is_3_11_or_newer(version: tuple[int, ...], is_good: bool) -> None:
    assert check_python(version).is_good is is_good


@pytest.mark.parametrize(
    ("answer", "found", "is_good"),
    [
        ('openjdk version "17.0.12" 2024-07-16', "17 (here)", True),
        ('openjdk version "21" 2023-09-19', "21 (here)", True),
        ('java version "1.8.0_202"', "8 (here)", False),
        ('openjdk version "11.0.2" 2019-01-15', "11 (here)", False),
        ("no such thing", "here says no version", False),
    ],
)
def test_java_is_17_or_newer(answer: str, found: str, is_good: bool) -> None:
    finding = java_finding(answer, "here")
    assert (finding.found, finding.is_good) == (found, is_good)
    assert is_good or "install Java 17" in finding.fix


def test_java_home_without_java_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    finding = check_java()
    assert finding.found == f"JAVA_HOME={tmp_path} has no bin/java"
    assert "or unset it" in finding.fix


def test_java_that_is_nowhere_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert check_java().found == "no java on the PATH, JAVA_HOME not set"


@pytest.mark.parametrize(
    ("version", "is_good"),
    [("2.1.9", False), ("2.2", True), ("2.3.3", True), ("3.0.0rc1", False), ("10.0", False)],
)
def test_package_is_within_its_bounds(monkeypatch: pytest.MonkeyPatch, version: str, is_good: bool) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: version)
    finding = check_package("pandas", "2.2", below="3")
    assert finding.fix == ("" if is_good else "pip install 'pandas>=2.2,<3'")


def test_package_that_is_missing_is_found() -> None:
    finding = check_package("no-such-package-anywhere", "1.0")
    assert (finding.found, finding.fix) == ("not installed", "pip install 'no-such-package-anywhere>=1.0'")


def test_import_that_fails_is_found() -> None:
    finding = check_import("tidegate.no_such_module")
    assert finding.found == "ModuleNotFoundError: No module named 'tidegate.no_such_module'"
    assert not finding.is_good


def test_doctor_says_that_all_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "CHECKS", (lambda: Finding("Java", "17"), lambda: Finding("pyspark", "4.2.0")))
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0
    assert "All is well" in result.stdout


def test_doctor_says_how_to_fix_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "CHECKS", (lambda: Finding("Java", "8", "install Java 17"), check_python))
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "Java: install Java 17" in result.stdout
    assert "All is well" not in result.stdout
