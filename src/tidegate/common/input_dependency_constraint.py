"""PyFlink's `pyflink.common.input_dependency_constraint`."""

from __future__ import annotations

import enum


class InputDependencyConstraint(enum.Enum):
    """When Flink would schedule a task of a batch job; programs may name it, and nothing here reads it."""

    ANY = 0
    ALL = 1
