"""Messages for sinks as plain data.

Over Spark Connect results come to the driver's sinks through files. A pickle in a file could be anybody's, and runs
whatever it says; this cannot.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterable
from typing import Final

from tidegate.core.columnar.table_codec import decode_table, encode_table
from tidegate.core.state.plain_values import decode_value, encode_value, register_plain
from tidegate.engine.messages import Element, Joined, Message, Moved, Report, Results
from tidegate.errors import InvalidTypeError

_KINDS: Final[dict[str, type[Message]]] = {
    "element": Element,
    "moved": Moved,
    "joined": Joined,
    "results": Results,
    "report": Report,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}

register_plain(uuid.UUID, "uuid", str, uuid.UUID)


def encode_messages(messages: Iterable[Message]) -> bytes:
    """Messages for sinks as JSON; what no sink is told is left out."""
    plain = []
    try:
        for message in messages:
            name = _NAMES.get(type(message))
            if isinstance(message, Results):
                table = base64.b64encode(encode_table(message.table)).decode()
                plain.append([name, *map(encode_value, message[:-1]), table])
            elif name is not None:
                plain.append([name, *map(encode_value, message)])
    except InvalidTypeError as error:
        raise InvalidTypeError(f"over Spark Connect results reach the driver's sinks as plain data: {error}") from None
    return json.dumps(plain).encode()


def decode_messages(data: bytes) -> list[Message]:
    """The messages that `encode_messages` was given."""
    found: list[Message] = []
    for name, *fields in json.loads(data):
        if name == "results":
            order, port, channel, table = fields
            place = decode_value(order), port, channel
            found.append(Results(*place, decode_table(base64.b64decode(table))))
        else:
            found.append(_KINDS[name](*map(decode_value, fields)))
    return found
