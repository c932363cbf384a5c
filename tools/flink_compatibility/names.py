"""PyFlink's names, read from `pyflink_names.json`."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAMES_FILE = Path(__file__).with_name("pyflink_names.json")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a signature; `kind` is "*", "**", "keyword" or "" for one that may be given by position."""

    name: str
    kind: str = ""
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A method, property, constant or attribute; `text` is its signature or value."""

    name: str
    kind: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class PyFlinkClass:
    """A class; `ancestors` are PyFlink's own, nearest first, and `members` what it does not inherit from them."""

    module: str
    name: str
    constructor: str | None
    ancestors: tuple[str, ...]
    members: Mapping[str, Member]
    type_parameters: int = 0

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True, slots=True)
class PyFlinkModule:
    """What a module defines, and what it passes on: name -> the module that defines it."""

    name: str
    classes: Mapping[str, PyFlinkClass]
    functions: Mapping[str, str]
    constants: Mapping[str, str]
    reexports: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PyFlinkNames:
    version: str
    modules: Mapping[str, PyFlinkModule]

    def class_at(self, path: str) -> PyFlinkClass | None:
        """The class at a full path, nested ones included."""
        parts = path.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            module = self.modules.get(".".join(parts[:cut]))
            if module is not None:
                return module.classes.get(".".join(parts[cut:]))
        return None

    def inherited(self, cls: PyFlinkClass) -> dict[str, tuple[PyFlinkClass, Member]]:
        """The members that a class takes from its ancestors, each with the class that defines it."""
        found: dict[str, tuple[PyFlinkClass, Member]] = {}
        for path in cls.ancestors:
            ancestor = self.class_at(path)
            for name, member in ({} if ancestor is None else ancestor.members).items():
                if name not in cls.members and ancestor is not None:
                    found.setdefault(name, (ancestor, member))
        return found

    def paths(self) -> Iterator[str]:
        """Every name of the list: modules, classes, constructors, members, functions, constants."""
        for module in self.modules.values():
            yield module.name
            yield from (f"{module.name}.{name}" for name in (*module.functions, *module.constants))
            for cls in module.classes.values():
                yield cls.path
                yield f"{cls.path}.__init__"
                yield from (f"{cls.path}.{name}" for name in (*cls.members, *self.inherited(cls)))


def load() -> PyFlinkNames:
    data = json.loads(NAMES_FILE.read_text(encoding="utf-8"))
    modules = {name: _module(name, groups) for name, groups in data["modules"].items()}
    return PyFlinkNames(data["pyflink_version"], modules)


def _module(name: str, groups: Mapping[str, Any]) -> PyFlinkModule:
    classes = {
        cls.name: cls for own, entry in groups["classes"].items() for cls in _classes(name, own, entry)
    }  # fmt: skip
    return PyFlinkModule(name, classes, groups["functions"], groups["constants"], groups["reexports"])


def _classes(module: str, name: str, entry: Mapping[str, Any]) -> Iterator[PyFlinkClass]:
    """The class, then the classes nested in it."""
    members = {attribute: Member(attribute, "attribute") for attribute in entry["attributes"]}
    for own, text in entry["members"].items():
        if isinstance(text, str):
            kind, _, rest = text.partition(" ")
            members[own] = Member(own, kind, rest)
    yield PyFlinkClass(module, name, entry["init"], tuple(entry["bases"]), members, entry["type_parameters"])
    for own, nested in entry["members"].items():
        if not isinstance(nested, str):
            yield from _classes(module, f"{name}.{own}", nested)


def parameters(signature: str) -> list[Parameter]:
    """The parameters of a signature that was written down as text.

    >>> [p.name for p in parameters("(size, *, offset=None)")]
    ['size', 'offset']
    """
    function = ast.parse(f"def f{signature}: ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    by_position = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(by_position) - len(arguments.defaults)) + [ast.unparse(d) for d in arguments.defaults]
    found = [Parameter(a.arg, "", default) for a, default in zip(by_position, defaults, strict=True)]
    if arguments.vararg:
        found.append(Parameter(arguments.vararg.arg, "*"))
    for argument, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(Parameter(argument.arg, "keyword", None if value is None else ast.unparse(value)))
    if arguments.kwarg:
        found.append(Parameter(arguments.kwarg.arg, "**"))
    return found
