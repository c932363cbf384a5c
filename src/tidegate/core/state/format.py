"""The format of an operator's state: what the state means, as plain data that is kept with it.

A program that comes back to its state goes on where every operator's state means the same; is migrated where the new
meaning can be had from the old; and is refused otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class StateFormat:
    """What state depends on. Everything in it is plain: texts, numbers, lists and dicts with text keys.

    `fixed` must be the same for the state to mean the same. `shared` must be the same where both have it, as the types
    of columns. `flexible` may differ: an operator takes over what is there, and begins with nothing where there is
    nothing.

    >>> before = StateFormat("windows", fixed={"size": 60_000}, flexible={"aggregates": ["count()"]})
    >>> after = StateFormat("windows", fixed={"size": 60_000}, flexible={"aggregates": ["count()", "sum(amount)"]})
    >>> compare(before, after).migrations
    ('sum(amount) is new in aggregates: what is open goes on without what came before',)
    """

    kind: str
    version: int = 1
    fixed: Mapping[str, Any] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)
    flexible: Mapping[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "version": self.version,
            "fixed": dict(self.fixed),
            "shared": dict(self.shared),
            "flexible": dict(self.flexible),
        }

    @staticmethod
    def of_plain(plain: Mapping[str, Any]) -> StateFormat:
        return StateFormat(plain["kind"], plain["version"], plain["fixed"], plain["shared"], plain["flexible"])

    def with_fixed(self, **fixed: Any) -> StateFormat:
        """The same, with more that must be the same."""
        return replace(self, fixed={**self.fixed, **fixed})


@dataclass(frozen=True, slots=True)
class FormatChange:
    """What became of a format: sentences on what is migrated, or one on why it is refused."""

    migrations: tuple[str, ...] = ()
    refusal: str | None = None


def compare(before: StateFormat, after: StateFormat) -> FormatChange:
    """Whether an operator of format `after` can go on with state of format `before`."""
    if before.kind != after.kind:
        return FormatChange(refusal=f"it was {before.kind} and is {after.kind} now")
    if before.version != after.version:
        return FormatChange(
            refusal=f"its state has version {before.version}, this Tidegate reads version {after.version}"
        )
    both = [name for name in before.shared if name in after.shared]
    for name in dict.fromkeys([*before.fixed, *after.fixed, *both]):
        old = before.fixed.get(name, before.shared.get(name))
        new = after.fixed.get(name, after.shared.get(name))
        if old != new:
            return FormatChange(refusal=f"its {name} was {_shown(old)} and is {_shown(new)} now")
    migrations: list[str] = []
    for name in dict.fromkeys([*before.flexible, *after.flexible]):
        migrations += _migrations(name, before.flexible.get(name), after.flexible.get(name))
    return FormatChange(tuple(migrations))


def _migrations(name: str, old: Any, new: Any) -> list[str]:
    if isinstance(old, list) and isinstance(new, list):
        added = [item for item in new if item not in old]
        removed = [item for item in old if item not in new]
        return [
            *(f"{item} is new in {name}: what is open goes on without what came before" for item in added),
            *(f"{item} is no longer in {name}: what was kept of it is forgotten" for item in removed),
        ]
    return [] if old == new else [f"{name} was {_shown(old)} and is {_shown(new)}: what is gone by now stays gone"]


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(item)}" for name, item in value.items())
    return ", ".join(map(_shown, value)) if isinstance(value, list) else str(value)


def described(subject: object) -> str:
    """A window assigner or trigger in one line: what it is, and its settings if it is one of ours.

    Of a user's own only the name is known; what it is set to is in the user's hands.
    """
    kind = type(subject)
    if not kind.__module__.startswith("tidegate."):
        return kind.__qualname__
    settings = []
    for name, value in sorted(vars(subject).items()):
        if name.startswith("_") or callable(value):
            continue
        plain = value if isinstance(value, int | float | str) else getattr(value, "value", None)
        settings.append(f"{name}={described(value) if plain is None else plain}")
    return f"{kind.__name__}({', '.join(settings)})"
