"""How values are written into packets and state."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle


def dumps(value: Any) -> bytes:
    """A value pickled: by the fast pickler, or by cloudpickle if the value holds what only that can write.

    What belongs to the main program must be written as a whole, since workers have another main program; so must what
    belongs to a module that was registered for it.
    """
    if not cloudpickle.list_registry_pickle_by_value():
        try:
            data = pickle.dumps(value, protocol=5)
        except Exception:
            data = b"__main__"
        if b"__main__" not in data:
            return data
    whole: bytes = cloudpickle.dumps(value, protocol=5)
    return whole
