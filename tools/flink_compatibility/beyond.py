"""What Tidegate has and PyFlink does not, found in the code."""

from __future__ import annotations

import fnmatch
import importlib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from tools.flink_compatibility import tidegate_code
from tools.flink_compatibility.names import PyFlinkClass, PyFlinkNames
from tools.flink_compatibility.render import render_signature
from tools.flink_compatibility.signatures import further_arguments

MORE_MODULES: Final = ("tidegate.agg", "tidegate.testing")
"""Public modules that have no counterpart in PyFlink at all."""


@dataclass(frozen=True, slots=True)
class NewNames:
    """Names to import, with what they are: one class, or the functions and constants of a module."""

    module: str
    names: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class NewMembers:
    """What a class has more than PyFlink's: methods, and arguments by method."""

    class_name: str
    methods: tuple[str, ...]
    arguments: tuple[tuple[str, tuple[str, ...]], ...]


def new_names(names: PyFlinkNames, hidden: Sequence[str]) -> list[NewNames]:
    """Everything new, each at the first place it can be imported from."""
    known = {path.rpartition(".")[2] for path in names.paths()}
    more = [importlib.import_module(name) for name in MORE_MODULES]
    seen: list[object] = []
    found = []
    for module in (*tidegate_code.public_modules(), *more):
        others = []
        for name in tidegate_code.public_names(module):
            value = getattr(module, name)
            if (name in known and module not in more) or any(value is s for s in seen) or _is_hidden(name, hidden):
                continue
            seen.append(value)
            if isinstance(value, type):
                found.append(NewNames(module.__name__, (name,), tidegate_code.summary(value)))
            elif hasattr(module, "__all__"):
                others.append(name)
        if others:
            found.append(NewNames(module.__name__, tuple(others), _others_summary(module, more)))
    return sorted(found, key=lambda new: (new.module, new.names))


def new_members(names: PyFlinkNames, hidden: Sequence[str]) -> list[NewMembers]:
    """For each class that both have: further public methods, and further arguments of the common ones."""
    found = []
    for module in names.modules.values():
        for cls in module.classes.values():
            counterpart = tidegate_code.find(cls.module, cls.name)
            if counterpart is not None and isinstance(counterpart.value, type):
                here = _of_class(names, cls, counterpart.value, hidden)
                if here.methods or here.arguments:
                    found.append(here)
    return sorted(found, key=lambda more: more.class_name)


def _of_class(names: PyFlinkNames, cls: PyFlinkClass, counterpart: Any, hidden: Sequence[str]) -> NewMembers:
    """What is new on this class and was not new on one that it inherits from."""
    known = {**{name: member for name, (_, member) in names.inherited(cls).items()}, **cls.members}
    methods, arguments = set(), set()
    for name, raw in _public_methods(counterpart).items():
        function = raw.__func__ if isinstance(raw, staticmethod | classmethod) else raw
        if _is_hidden(f"{cls.name}.{name}", hidden) or tidegate_code.refusal(function) is not None:
            continue
        if name not in known:
            methods.add(name)
        elif known[name].kind in ("method", "staticmethod", "classmethod") and not isinstance(raw, property):
            signature = render_signature(function, is_bound=not isinstance(raw, staticmethod))
            further = further_arguments(known[name].text, signature)
            if further:
                arguments.add((name, tuple(further)))
    for path in cls.ancestors:
        ancestor = names.class_at(path)
        base = None if ancestor is None else tidegate_code.find(ancestor.module, ancestor.name)
        if ancestor is not None and base is not None:
            above = _of_class(names, ancestor, base.value, hidden)
            methods -= set(above.methods)
            arguments -= set(above.arguments)
    return NewMembers(cls.name, tuple(sorted(methods)), tuple(sorted(arguments)))


def _public_methods(cls: Any) -> dict[str, Any]:
    return {
        name: raw
        for base in reversed(cls.__mro__)
        if base.__module__.startswith("tidegate.")
        for name, raw in vars(base).items()
        if not name.startswith("_") and (inspect.isroutine(raw) or isinstance(raw, property))
    }


def _others_summary(module: ModuleType, more: Sequence[ModuleType]) -> str:
    return tidegate_code.summary(module) if module in more else ""


def _is_hidden(name: str, hidden: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in hidden)
