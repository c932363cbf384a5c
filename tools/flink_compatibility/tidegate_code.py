"""Tidegate's side: finding the counterpart of a PyFlink name, and what its code says about itself."""

from __future__ import annotations

import ast
import dis
import functools
import importlib
import inspect
import pkgutil
import textwrap
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, Final

from tidegate import _refused
from tidegate.errors import UnsupportedImportError

PACKAGES: Final = ("tidegate.common", "tidegate.datastream")
MISSING: Final = object()
NO_EFFECT: Final = "Accepted for Flink's sake: "
"""How the docstring of a method begins that does nothing."""


@dataclass(frozen=True, slots=True)
class Counterpart:
    """What stands for a PyFlink name, and the module it is imported from."""

    value: Any
    module: str
    is_at_its_path: bool


@functools.cache
def public_modules() -> tuple[ModuleType, ...]:
    """The packages that mirror PyFlink's, then their modules in order."""
    packages = [importlib.import_module(name) for name in PACKAGES]
    names = [
        info.name
        for package in packages
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not any(part.startswith("_") for part in info.name.split("."))
    ]
    return (*packages, *map(importlib.import_module, sorted(names)))


@functools.cache
def public_names(module: ModuleType) -> list[str]:
    """What the module exports; without `__all__`, what it defines."""
    exported = getattr(module, "__all__", None)
    if exported is not None:
        return sorted(exported)
    return sorted(n for n, v in vars(module).items() if n[0] != "_" and getattr(v, "__module__", "") == module.__name__)


@functools.cache
def find(pyflink_module: str, name: str) -> Counterpart | None:
    """The counterpart of a name: at PyFlink's path with `tidegate` in it, else in another public module."""
    path = pyflink_module.replace("pyflink", "tidegate", 1)
    here = next((module for module in public_modules() if module.__name__ == path), None)
    value = MISSING if here is None else _get(here, name)
    if here is not None and value is not MISSING:
        return Counterpart(value, path, is_at_its_path=True)
    for module in public_modules():
        if name.partition(".")[0] in public_names(module):
            value = _get(module, name)
            if value is not MISSING:
                return Counterpart(value, module.__name__, is_at_its_path=False)
    return None


def _get(owner: Any, name: str) -> Any:
    for part in name.split("."):
        try:
            owner = getattr(owner, part, MISSING)
        except UnsupportedImportError:
            return MISSING
    return owner


def refused_import(pyflink_path: str) -> str | None:
    """Why a class, function or constant cannot be imported, in the words of the error; None if it does not say."""
    module, _, name = pyflink_path.replace("pyflink", "tidegate", 1).rpartition(".")
    while module:
        reason = _refused.reason(module, name)
        if reason is not None:
            return reason
        module, _, outer = module.rpartition(".")
        name = f"{outer}.{name}"
    return None


def attributes(cls: type) -> set[str]:
    """The instance attributes of a class: fields, slots, annotations, and what constructors assign."""
    found: set[str] = set()
    for base in cls.__mro__:
        found |= set(vars(base).get("__annotations__", {})) | set(vars(base).get("__slots__", ()))
        constructor = vars(base).get("__init__")
        if isinstance(constructor, FunctionType):
            found |= {str(i.argval) for i in dis.get_instructions(constructor) if i.opname == "STORE_ATTR"}
    return found


@functools.cache
def refusal(function: Any) -> str | None:
    """Why a method is refused, from its only statement `raise UnsupportedError(...)`; None if it is not."""
    body = _body(function)
    if len(body) != 1 or not isinstance(body[0], ast.Raise) or not isinstance(body[0].exc, ast.Call):
        return None
    call = body[0].exc
    if ast.unparse(call.func) != "UnsupportedError" or not call.args:
        return None
    text = "".join(n.value for n in ast.walk(call.args[0]) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return text.partition(": ")[2] or text


def without_effect(function: Any) -> str | None:
    """Why a method does nothing, from its docstring; None if it does something."""
    text = " ".join((inspect.getdoc(function) or "").split())
    return text.removeprefix(NO_EFFECT).rstrip(".") if text.startswith(NO_EFFECT) else None


def _body(function: Any) -> list[ast.stmt]:
    if not isinstance(function, FunctionType) or function.__code__.co_filename.startswith("<"):
        return []
    definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    body = definition.body if isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef) else []
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        return body[1:]
    return body


def summary(value: Any) -> str:
    """The first sentence of a docstring that is the object's own."""
    text = inspect.cleandoc(getattr(value, "__doc__", None) or "")
    return " ".join(text.partition("\n\n")[0].split())
