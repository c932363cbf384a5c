"""PyFlink's `pyflink.datastream.connectors.base`."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from tidegate._refused import refusing
from tidegate.core.operator.sink import Sink
from tidegate.core.source.source import Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]


class DeliveryGuarantee(enum.Enum):
    """How often a sink may deliver an element after a failure."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
