"""Reading transcript files. An unknown field is an error, never ignored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.errors import TidegateError

_COMMON_FIELDS = {"name", "kind", "steps"}
_KINDS: Mapping[str, Collection[str]] = {
    "valve": {"channels", "rules"},
    "combine": {"inputs", "rules"},
    "generator": {"strategy"},
    "pipeline": {"channels", "ordered", "spark", "operator"},
}


class TranscriptError(TidegateError, ValueError):
    """A file that is not a transcript: says which file, case and field."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The step at which a case went wrong."""

    step: int
    expected: Any
    got: Any


@dataclass(frozen=True, slots=True)
class Case:
    """One script. `fields` holds what its kind has beside `steps`."""

    file: str
    name: str
    kind: str
    fields: Mapping[str, Any]
    steps: tuple[Mapping[str, Any], ...]

    def error(self, message: str) -> TranscriptError:
        return TranscriptError(f"{self.file}: {self.name}: {message}")

    def time(self, value: Any, where: str) -> int:
        """A time of the script: an integer, `min` or `max`."""
        if value == "min":
            return MIN_TIME
        if value == "max":
            return MAX_TIME
        if type(value) is not int or not MIN_TIME <= value <= MAX_TIME:
            raise self.error(f"{where}: expected a 64-bit integer, min or max, got {value!r}")
        return value

    def whole(self, value: Any, where: str) -> int:
        if type(value) is not int:
            raise self.error(f"{where}: expected an integer, got {value!r}")
        return value

    def check_fields(self, mapping: Any, known: Collection[str], where: str) -> Mapping[str, Any]:
        """`mapping` if it is one and has only known fields."""
        if not isinstance(mapping, Mapping):
            raise self.error(f"{where}: expected fields, got {mapping!r}")
        for field in mapping:
            if field not in known:
                raise self.error(f"{where}: unknown field {field!r}; known are {', '.join(sorted(known))}")
        return mapping

    def single(self, step: Mapping[str, Any], number: int, known: Collection[str]) -> tuple[str, Any]:
        """The one action of a step."""
        self.check_fields(step, known, f"step {number}")
        if len(step) != 1:
            raise self.error(f"step {number}: expected one action, got {', '.join(map(str, step)) or 'none'}")
        return next(iter(step.items()))


def load_cases(paths: Iterable[str | Path]) -> Iterator[Case]:
    """The cases of files and of the YAML files in folders, in order."""
    for path in map(Path, paths):
        if path.is_dir():
            files = sorted(p for p in path.rglob("*") if p.suffix in {".yaml", ".yml"})
            if not files:
                raise TranscriptError(f"{path}: no .yaml files in this folder")
        elif path.exists():
            files = [path]
        else:
            raise TranscriptError(f"{path}: no such file or folder")
        for file in files:
            yield from _load_file(file)


def _load_file(path: Path) -> Iterator[Case]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise TranscriptError(f"{path}: not YAML: {error}") from error
    if not isinstance(content, list):
        raise TranscriptError(f"{path}: expected a list of cases")
    for number, entry in enumerate(content, start=1):
        yield _load_case(path.name, number, entry)


def _load_case(file: str, number: int, entry: Any) -> Case:
    if not isinstance(entry, Mapping):
        raise TranscriptError(f"{file}: case {number}: expected fields, got {entry!r}")
    name = str(entry.get("name", f"case {number}"))
    kind = str(entry.get("kind"))
    steps = entry.get("steps")
    case = Case(file, name, kind, {k: v for k, v in entry.items() if k not in _COMMON_FIELDS}, ())
    if kind not in _KINDS:
        raise case.error(f"unknown kind {entry.get('kind')!r}; known are {', '.join(_KINDS)}")
    case.check_fields(entry, _COMMON_FIELDS | set(_KINDS[kind]), "case")
    if "name" not in entry:
        raise case.error("has no name")
    if not isinstance(steps, list) or not all(isinstance(step, Mapping) for step in steps):
        raise case.error("steps: expected a list of actions")
    return Case(file, name, kind, case.fields, tuple(steps))
