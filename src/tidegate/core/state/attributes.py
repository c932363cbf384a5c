"""What an object of the user keeps in its attributes, as a value to save and to put back."""

from __future__ import annotations

import copy
from typing import Any


def save_attributes(subject: Any) -> dict[str, Any]:
    """A deep copy of all attributes, slots included."""
    attributes = dict(getattr(subject, "__dict__", {}))
    for kind in type(subject).__mro__:
        slots = getattr(kind, "__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(subject, name):
                attributes[name] = getattr(subject, name)
    return copy.deepcopy(attributes)


def load_attributes(subject: Any, attributes: dict[str, Any]) -> None:
    """Put saved attributes back, also into a frozen object. Attributes that were not there go."""
    own = getattr(subject, "__dict__", {})
    for name in set(own) - set(attributes):
        del own[name]
    for name, value in copy.deepcopy(attributes).items():
        object.__setattr__(subject, name, value)
