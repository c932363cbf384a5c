"""Write the public names of PyFlink's DataStream API to `pyflink_names.json`.

Needed only when PyFlink has a new version. It runs in an environment of its own, from the root of the repository:

    python3 -m venv ENV && ENV/bin/pip install apache-flink==2.3.0
    ENV/bin/python -m tools.flink_compatibility.extract_pyflink_names tools/flink_compatibility/pyflink_names.json

The modules below `pyflink.common` and `pyflink.datastream` are imported and inspected. No JVM is started.

- A module has `classes`, `functions` and `constants`: what it defines, if it is listed in `__all__` or the module has
  none, or if programs meet it all the same (`ALSO_PUBLIC`). `reexports` maps a name to the module that defines it.
- A class has `bases` (all that are PyFlink's, nearest first), the number of its `type_parameters`, `init` (null for
  enums), the `attributes` that the constructor assigns, and `members`: its own, each as its kind and its signature or
  value. A nested class is a member that is an object again.
- Signatures leave out `self`, `cls` and annotations.
"""

import ast
import dis
import enum
import importlib
import inspect
import json
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final, TypeVar

from tools.flink_compatibility.render import render, render_signature

ROOT_PACKAGES: Final = ("pyflink.common", "pyflink.datastream")
INTERNAL_MODULES: Final = frozenset({"pyflink.common.utils", "pyflink.datastream.utils"})
ALSO_PUBLIC: Final = frozenset(
    {
        *("AllWindowedStream", "AppendingState", "CachedDataStream", "Function", "KeyedStateStore", "MergingState"),
        *("State", "StateDescriptor", "NO_RETRY_STRATEGY", "DefaultRollingPolicy", "OnCheckpointRollingPolicy"),
        *("BasicArrayTypeInfo", "BasicType", "BasicTypeInfo", "DateTypeInfo", "ExternalTypeInfo", "InstantTypeInfo"),
        *("ListTypeInfo", "LocalTimeTypeInfo", "MapTypeInfo", "ObjectArrayTypeInfo", "PickledBytesTypeInfo"),
        *("PrimitiveArrayTypeInfo", "RowTypeInfo", "SqlTimeTypeInfo", "TimeTypeInfo", "TimestampTypeInfo"),
        "TupleTypeInfo",
    }
)
"""Names that are missing in `__all__` though the documentation or a return type leads to them."""

Names = dict[str, Any]


def is_public(name: str, module: ModuleType) -> bool:
    exported = getattr(module, "__all__", None)
    return not name.startswith("_") and (exported is None or name in exported or name in ALSO_PUBLIC)


def is_api(cls: type) -> bool:
    """Whether a class has an entry of its own in the list, so that its subclasses need not repeat it."""
    if not cls.__module__.startswith(ROOT_PACKAGES) or cls.__module__ in INTERNAL_MODULES:
        return False
    return is_public(cls.__qualname__.partition(".")[0], sys.modules[cls.__module__])


def describe_member(value: object) -> str | Names:
    """One entry of a class's `members`."""
    if isinstance(value, staticmethod):
        return f"staticmethod {render_signature(value.__func__, is_bound=False)}"
    if isinstance(value, classmethod):
        return f"classmethod {render_signature(value.__func__, is_bound=True)}"
    if isinstance(value, FunctionType):
        return f"method {render_signature(value, is_bound=True)}"
    if isinstance(value, property):
        return "property"
    if isinstance(value, type):
        return describe_class(value)
    if isinstance(value, enum.Enum):
        return f"enum {render(value.value)}"
    return f"constant {render(value)}"


def describe_class(cls: type) -> Names:
    """The entry of a class, with what it inherits from PyFlink classes that have none."""
    namespace: Names = {}
    attributes: set[str] = set()
    inherited = [base for base in cls.__mro__[1:] if is_api(base)]
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("pyflink.") and base not in inherited:
            namespace.update(vars(base))
            namespace.update(getattr(base, "__members__", {}))  # an enum's members
            constructor = vars(base).get("__init__")
            instructions = dis.get_instructions(constructor) if constructor else ()
            attributes.update(str(i.argval) for i in instructions if i.opname == "STORE_ATTR")
    is_enum = issubclass(cls, enum.Enum)
    own = {name: describe_member(value) for name, value in namespace.items() if not name.startswith("_")}
    init = getattr(cls, "__init__", None)
    has_init = isinstance(init, FunctionType) and init.__module__.startswith("pyflink.")
    return {
        "bases": [f"{base.__module__}.{base.__qualname__}" for base in inherited],
        "type_parameters": len(getattr(cls, "__parameters__", ())),
        "init": None if is_enum else render_signature(init, is_bound=True) if init and has_init else "()",
        "attributes": [] if is_enum else sorted(name for name in attributes if not name.startswith("_")),
        "members": dict(sorted(own.items())),
    }


def describe_module(module: ModuleType) -> Names:
    """The entry of a module: what it defines, and what it only passes on."""
    statements = ast.parse(inspect.getsource(module)).body
    nodes = [node for s in statements if isinstance(s, ast.Assign | ast.AnnAssign) for node in ast.walk(s)]
    assigned = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    exported = getattr(module, "__all__", ())
    names: Names = {"reexports": {}, "classes": {}, "functions": {}, "constants": {}}
    for name, value in sorted(vars(module).items()):
        home = getattr(value, "__module__", None) or ""
        is_part = f"{home}.".startswith(f"{module.__name__}.")  # connectors/__init__.py imports and lists nothing
        if isinstance(value, ModuleType | TypeVar) or not (is_public(name, module) or (is_part and name[0] != "_")):
            continue
        if isinstance(value, type | FunctionType) and home != module.__name__:
            if name in exported or is_part:
                names["reexports"][name] = home
        elif not is_public(name, module):
            continue
        elif isinstance(value, type):
            names["classes"][name] = describe_class(value)
        elif isinstance(value, FunctionType):
            names["functions"][name] = render_signature(value, is_bound=False)
        elif not callable(value) and (name in exported or name in assigned):
            names["constants"][name] = render(value)
    return names


def api_modules() -> Iterator[ModuleType]:
    """The root packages and all modules below them, without PyFlink's tests and helpers."""
    for root in map(importlib.import_module, ROOT_PACKAGES):
        yield root
        for info in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
            if "tests" not in info.name.split(".") and info.name not in INTERNAL_MODULES:
                yield importlib.import_module(info.name)


def as_json(version: str, modules: dict[str, Names]) -> str:
    """JSON with a line for each class or group of names, so that changes can be read."""
    lines = ["{", f' "pyflink_version": {json.dumps(version)},', ' "modules": {']
    for module, groups in modules.items():
        lines.append(f"  {json.dumps(module)}: {{")
        others = ("reexports", "functions", "constants")
        lines += [f"   {json.dumps(group)}: {json.dumps(groups[group])}," for group in others]
        classes = [f"    {json.dumps(name)}: {json.dumps(entry)}" for name, entry in groups["classes"].items()]
        lines += ['   "classes": {', *",\n".join(classes).splitlines(), "   }", "  },"]
    lines[-1] = "  }"
    return "\n".join([*lines, " }", "}"]) + "\n"


def main(output: Path) -> None:
    version: str = importlib.import_module("pyflink.version").__version__
    modules = {module.__name__: describe_module(module) for module in api_modules()}
    output.write_text(as_json(version, dict(sorted(modules.items()))), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.flink_compatibility.extract_pyflink_names OUTPUT.json")
    main(Path(sys.argv[1]))
