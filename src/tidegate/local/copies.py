"""Every subtask has functions of its own, as on a cluster, though all run in one process."""

from __future__ import annotations

import copy
from typing import Any

import cloudpickle

from tidegate.core.operator.sink import SinkSpec


def spec_of_subtask(spec: Any, index: int) -> Any:
    """The spec that subtask `index` is created from.

    The first subtask has what the user gave, so that a program with one subtask can look at its own objects later. The
    others have copies: a state handle that one keeps in `open` is not that of its neighbour. Plain functions are not
    copied, and neither are sinks, unless they say so with `is_shared = False`.
    """
    if index == 0 or (isinstance(spec, SinkSpec) and getattr(spec.sink, "is_shared", True)):
        return spec
    try:
        return copy.deepcopy(spec)
    except TypeError:
        # A module among the attributes, for example; the graph was checked to be picklable.
        return cloudpickle.loads(cloudpickle.dumps(spec))
