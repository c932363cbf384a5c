"""Whether a call that PyFlink understands is understood by Tidegate too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tools.flink_compatibility.names import Parameter, parameters

JAVA_OBJECT: Final = "j_"
"""How the names of arguments begin that only PyFlink itself gives."""


def is_for_users(signature: str) -> bool:
    """Whether a call is possible without a Java object."""
    return not any(p.name.startswith(JAVA_OBJECT) and p.default is None for p in parameters(signature))


def differences(pyflink: str, tidegate: str) -> list[str]:
    """What keeps a call written for the first signature from working with the second; empty if nothing does.

    Further optional arguments are no difference, and neither is a default where PyFlink has none. Arguments for Java
    objects are left out.

    >>> differences("(size, offset=None)", "(size, offset=None, *, stagger=0)")
    []
    >>> differences("(size, offset=None)", "(length, offset=0)")
    ['no argument `size`', 'needs `length`', 'default of `offset` is `0`, not `None`']
    """
    theirs = [parameter for parameter in parameters(pyflink) if not parameter.name.startswith(JAVA_OBJECT)]
    ours = parameters(tidegate)
    by_name = {parameter.name: parameter for parameter in ours}
    found: list[str] = []
    for parameter in theirs:
        if parameter.kind in ("*", "**"):
            if not any(p.kind == parameter.kind for p in ours):
                found.append(f"no `{parameter.kind}{parameter.name}`")
        else:
            found += _missing(parameter, by_name.get(parameter.name), ours)
    taken = {parameter.name for parameter in theirs}
    needed = [p.name for p in ours if p.name not in taken and p.default is None and p.kind in ("", "keyword")]
    if not any(p.kind in ("*", "**") for p in theirs):
        found[1:1] = [f"needs `{name}`" for name in needed]
    return found or _order(theirs, ours)


def _missing(parameter: Parameter, other: Parameter | None, ours: Sequence[Parameter]) -> list[str]:
    if other is None or other.kind in ("*", "**"):
        takes_any = any(p.kind == "*" for p in ours) and any(p.kind == "**" for p in ours)
        return [] if takes_any else [f"no argument `{parameter.name}`"]
    if parameter.kind == "" and other.kind == "keyword":
        return [f"`{parameter.name}` only by name"]
    if parameter.default is not None and other.default is None:
        return [f"`{parameter.name}` must be given"]
    if parameter.default is not None and parameter.default != other.default:
        return [f"default of `{parameter.name}` is `{other.default}`, not `{parameter.default}`"]
    return []


def _order(theirs: Sequence[Parameter], ours: Sequence[Parameter]) -> list[str]:
    wanted = [p.name for p in theirs if p.kind == ""]
    got = [p.name for p in ours if p.kind == ""][: len(wanted)]
    if got == wanted or any(p.kind == "*" for p in ours):
        return []
    return [f"arguments in the order {', '.join(f'`{name}`' for name in got)}"]


def further_arguments(pyflink: str, tidegate: str) -> list[str]:
    """The arguments that Tidegate has and PyFlink does not."""
    known = {parameter.name for parameter in parameters(pyflink)}
    return [p.name for p in parameters(tidegate) if p.name not in known and p.kind in ("", "keyword")]
