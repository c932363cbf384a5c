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

    `fixed` must be the same for the state to mean the same. `shared` must be the same where both have it, as what
    gives a result of some name. `flexible` may differ: an operator takes over what is there, and begins with nothing
    where there is nothing. Where it is a mapping, it names things with the parts that each is kept in: a new one whose
    parts are all there is whole, one without any begins empty, and one that would be put together from both is refused.

    >>> before = StateFormat("windows", flexible={"aggregates": {"sum(x)": ["sum of x"]}})
    >>> after = StateFormat("windows", flexible={"aggregates": {"sum(x)": ["sum of x"], "max(x)": ["max of x"]}})
    >>> compare(before, after).migrations
    ('max(x) is new in aggregates: what is open goes on without what came before',)
    """

    kind: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)
    flexible: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1

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
        return StateFormat(**plain)

    def with_fixed(self, **fixed: Any) -> StateFormat:
        """The same, with more that must be the same."""
        return replace(self, fixed={**self.fixed, **fixed})

    def with_shared(self, **shared: Any) -> StateFormat:
        """The same, with more that must be the same where both have it."""
        return replace(self, shared={**self.shared, **shared})


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
        old, new = before.flexible.get(name), after.flexible.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            change = _compare_parts(name, old, new)
            if change.refusal is not None:
                return change
            migrations += change.migrations
        elif old != new:
            migrations.append(f"{name} was {_shown(old)} and is {_shown(new)}: what is gone by now stays gone")
    return FormatChange(tuple(migrations))


def _compare_parts(name: str, old: Mapping[str, list[str]], new: Mapping[str, list[str]]) -> FormatChange:
    kept = {part for parts in old.values() for part in parts}
    migrations = []
    for item in [item for item in new if item not in old]:
        missing = [part for part in new[item] if part not in kept]
        if 0 < len(missing) < len(new[item]):
            known = ", ".join(part for part in new[item] if part in kept)
            return FormatChange(
                refusal=f"{item} is new in {name}, and of what it is made of only {known} was kept for what is open"
            )
        if missing:
            migrations.append(f"{item} is new in {name}: what is open goes on without what came before")
    migrations += [
        f"{item} is no longer in {name}: what was kept of it is forgotten" for item in old if item not in new
    ]
    return FormatChange(tuple(migrations))


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
