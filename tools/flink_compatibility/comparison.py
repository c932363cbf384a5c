"""Every PyFlink name beside its counterpart: there, different, or missing."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tools.flink_compatibility import tidegate_code
from tools.flink_compatibility.names import Member, PyFlinkClass, PyFlinkModule, PyFlinkNames
from tools.flink_compatibility.render import render, render_signature
from tools.flink_compatibility.signatures import differences, is_for_users
from tools.flink_compatibility.verdicts import Answer, Verdict, Verdicts

YES = Verdict(Answer.YES, "")


@dataclass(frozen=True, slots=True)
class Row:
    """What holds for one name; `name` is relative to its module."""

    name: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class ClassRows:
    """A class and its members; of inherited ones only those for which another verdict holds than in the base."""

    row: Row
    members: tuple[Row, ...]
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class ModuleRows:
    name: str
    classes: tuple[ClassRows, ...]
    others: tuple[Row, ...]


@dataclass(slots=True)
class Comparison:
    """Compares, and collects what nobody has given a verdict on."""

    names: PyFlinkNames
    verdicts: Verdicts
    problems: list[str] = field(default_factory=list)

    def run(self) -> list[ModuleRows]:
        modules = [self._module(module) for module in self.names.modules.values()]
        self.problems += [f"{pattern}: fits no PyFlink name that needs it" for pattern in self.verdicts.unused()]
        return modules

    def _module(self, module: PyFlinkModule) -> ModuleRows:
        classes = tuple(self._class(cls) for cls in module.classes.values())
        others = [self._function(module, name, signature) for name, signature in module.functions.items()]
        others += [self._constant(module, name, text) for name, text in module.constants.items()]
        others += [self._reexport(module, name, home) for name, home in module.reexports.items()]
        return ModuleRows(module.name, classes, tuple(others))

    def _class(self, cls: PyFlinkClass) -> ClassRows:
        found = tidegate_code.find(cls.module, cls.name)
        if found is None:
            verdict = self._missing(cls.path)
            members = tuple(Row(name, verdict) for name in cls.members)
            return ClassRows(Row(cls.name, verdict), members, is_missing=True)
        remarks = [] if found.is_at_its_path else [f"import it from `{found.module}`"]
        remarks += self._ancestors(cls, found.value)
        remarks += _type_arguments(cls, found.value)
        remarks += self._constructor(cls, found.value)
        row = Row(cls.name, self._settle_class(cls.path, remarks))
        return ClassRows(row, tuple(self._members(cls, found.value)))

    def _constructor(self, cls: PyFlinkClass, counterpart: Any) -> list[str]:
        remarks = _constructor(cls, counterpart)
        if not remarks:
            return []
        verdict = self._settle(f"{cls.path}.__init__", _differs(remarks))
        return [] if verdict.answer is Answer.YES else [verdict.remark]

    def _ancestors(self, cls: PyFlinkClass, counterpart: Any) -> list[str]:
        remarks = []
        for path in cls.ancestors:
            ancestor = self.names.class_at(path)
            base = None if ancestor is None else tidegate_code.find(ancestor.module, ancestor.name)
            if base is not None and ancestor is not None and not issubclass(counterpart, base.value):
                remarks.append(f"is not a `{ancestor.name}`")
        return remarks

    def _members(self, cls: PyFlinkClass, counterpart: Any) -> Iterator[Row]:
        for name, member in cls.members.items():
            yield Row(name, self._member(f"{cls.path}.{name}", counterpart, member))
        for name, (ancestor, member) in self.names.inherited(cls).items():
            base = tidegate_code.find(ancestor.module, ancestor.name)
            above = None if base is None else self._member(f"{ancestor.path}.{name}", base.value, member)
            here = _member(counterpart, member)
            if here is None or above is None or here != _member(base.value if base else None, member):
                yield Row(name, self._settle_or_report(f"{cls.path}.{name}", here))

    def _member(self, path: str, counterpart: Any, member: Member) -> Verdict:
        return self._settle_or_report(path, _member(counterpart, member))

    def _function(self, module: PyFlinkModule, name: str, signature: str) -> Row:
        return self._value(module, name, lambda value: differences(signature, render_signature(value, is_bound=False)))

    def _constant(self, module: PyFlinkModule, name: str, text: str) -> Row:
        return self._value(module, name, lambda value: _value_differs(text, render(value)))

    def _value(self, module: PyFlinkModule, name: str, compare: Callable[[Any], list[str]]) -> Row:
        path = f"{module.name}.{name}"
        found = tidegate_code.find(module.name, name)
        if found is None:
            return Row(name, self._missing(path))
        remarks = [] if found.is_at_its_path else [f"import it from `{found.module}`"]
        return Row(name, self._settle(path, _differs([*remarks, *compare(found.value)])))

    def _reexport(self, module: PyFlinkModule, name: str, home: str) -> Row:
        found = tidegate_code.find(module.name, name)
        if found is None:
            return Row(name, self._missing(f"{home}.{name}"))
        original = tidegate_code.find(home, name)
        remarks = [] if found.is_at_its_path else [f"import it from `{found.module}`"]
        if original is None or original.value is not found.value:
            remarks.append(f"is another class than in `{home.replace('pyflink', 'tidegate')}`")
        return Row(name, _differs(remarks))

    def _settle_class(self, path: str, remarks: list[str]) -> Verdict:
        """As `_settle`, with what the code says behind what `verdicts.yaml` says."""
        verdict = self._settle(path, _differs(remarks))
        is_explained = remarks and verdict.answer is Answer.DIFFERS and verdict != _differs(remarks)
        return _differs([verdict.remark, *remarks]) if is_explained else verdict

    def _settle_or_report(self, path: str, verdict: Verdict | None) -> Verdict:
        return self._missing(path) if verdict is None else self._settle(path, verdict)

    def _settle(self, path: str, found: Verdict) -> Verdict:
        """What the code says, unless `verdicts.yaml` explains it; it cannot deny what the code has."""
        verdict = self.verdicts.of_existing(path)
        if verdict is None:
            return found
        if verdict.answer is Answer.NO and found.answer is not Answer.NO:
            self.problems.append(f"{path}: verdicts.yaml says no, and the code has it")
        return verdict

    def _missing(self, path: str) -> Verdict:
        refused = tidegate_code.refused_import(path)
        if refused is not None:
            return Verdict(Answer.NO, refused)
        verdict = self.verdicts.of_missing(path)
        if verdict is None:
            self.problems.append(f"{path}: missing, and verdicts.yaml does not say why")
            return Verdict(Answer.NO, "?")
        return verdict


def _type_arguments(cls: PyFlinkClass, counterpart: Any) -> list[str]:
    """Whether a program may write `Class[A, B]`, as PyFlink's may."""
    try:
        counterpart[(Any,) * cls.type_parameters] if cls.type_parameters else None
    except TypeError:
        arguments = ", ".join("ABCDEFG"[: cls.type_parameters])
        return [f"cannot be written with type arguments, as `{cls.name}[{arguments}]`"]
    return []


def _constructor(cls: PyFlinkClass, counterpart: Any) -> list[str]:
    """How the constructors differ. One that wants a Java object is PyFlink's own business."""
    if cls.constructor is None or not isinstance(counterpart, type) or inspect.isabstract(counterpart):
        return []
    if not is_for_users(cls.constructor):
        return []
    own = inspect.getattr_static(counterpart, "__init__")
    if own is object.__init__:
        own = inspect.getattr_static(counterpart, "__new__")
    if not inspect.isfunction(own) and not isinstance(own, staticmethod):
        signature = "()"
    else:
        signature = render_signature(own.__func__ if isinstance(own, staticmethod) else own, is_bound=True)
    found = differences(cls.constructor, signature)
    return [f"constructor: {', '.join(found)}"] if found else []


def _member(counterpart: Any, member: Member) -> Verdict | None:
    """What the code says about one member; None if it has none."""
    raw = inspect.getattr_static(counterpart, member.name, tidegate_code.MISSING)
    if member.kind in ("attribute", "property"):
        is_there = member.name in tidegate_code.attributes(counterpart) or isinstance(raw, property)
        if not is_there and raw is tidegate_code.MISSING:
            return None
        return _differs(["is a method, not a property"] if inspect.isfunction(raw) else [])
    if raw is tidegate_code.MISSING:
        return None
    if member.kind in ("enum", "constant"):
        value = raw.value if isinstance(raw, enum.Enum) else raw
        return _differs(_value_differs(member.text, render(value)))
    return _method(raw, member)


def _method(raw: Any, member: Member) -> Verdict:
    function = raw.__func__ if isinstance(raw, staticmethod | classmethod) else raw
    if isinstance(raw, property) or not callable(function):
        return _differs(["is a property, not a method"])
    refused = tidegate_code.refusal(function)
    if refused is not None:
        return Verdict(Answer.NO, refused)
    idle = tidegate_code.without_effect(function)
    if idle is not None:
        return Verdict(Answer.DIFFERS, f"accepted, no effect: {idle}")
    remarks = differences(member.text, render_signature(function, is_bound=not isinstance(raw, staticmethod)))
    if member.kind != "method" and not isinstance(raw, staticmethod | classmethod):
        remarks.append("is called on an object")
    return _differs(remarks)


def _value_differs(pyflink: str, tidegate: str) -> list[str]:
    same = pyflink == tidegate or pyflink.startswith("<")
    return [] if same else [f"is `{tidegate}`, not `{pyflink}`"]


def _differs(remarks: list[str]) -> Verdict:
    return Verdict(Answer.DIFFERS, "; ".join(remarks)) if remarks else YES
