"""The order of messages: Spark promises none after a shuffle, so every message carries its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Final

from tidegate.engine.messages import Element, Joined, Moved, Order, OrderedMessage, Port

BEFORE_RECORDS: Final = -(2**62)
AFTER_RECORDS: Final = 2**62
"""Positions of what happens before and after all records of a batch."""


def place_of(message: OrderedMessage) -> tuple[Order, str]:
    """What messages are sorted by, to be processed as they must be."""
    return message.order, message.channel


def interleaved(messages: list[Element | Moved | Joined], ports: Collection[Port]) -> list[Element | Moved | Joined]:
    """Channels of these ports are ordered only within themselves: they get their position in the batch as order."""
    if not ports:
        return messages
    ranked = [message for message in messages if message.port not in ports]
    channels: dict[tuple[Port, str], list[Element | Moved | Joined]] = defaultdict(list)
    for message in messages:
        if message.port in ports:
            channels[(message.port, message.channel)].append(message)
    for (port, channel), members in channels.items():
        members.sort(key=place_of)
        ranked += [message._replace(order=(rank, f"{port}/{channel}")) for rank, message in enumerate(members)]
    return ranked


class OrderKeeper:
    """Gives outputs their order: that of what is being processed, with a number behind it."""

    __slots__ = ("_index", "_order")

    def __init__(self) -> None:
        self._order: Order = (BEFORE_RECORDS, "")
        self._index = 0

    def at(self, order: Order) -> None:
        """What is processed from now on has this order."""
        self._order = order
        self._index = 0

    def next_order(self) -> Order:
        self._index += 1
        return (*self._order, self._index)
