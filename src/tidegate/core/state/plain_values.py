"""Values as plain data: what reads them makes nothing but values of known types, whoever wrote them.

A pickle runs whatever it says. This says nothing but values: what JSON has, and the types that are registered here.
"""

from __future__ import annotations

import base64
import datetime
import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

import numpy as np

from tidegate.core.operator.output_tag import DeadLetter
from tidegate.core.watermark.records import Watermark, WatermarkStatus
from tidegate.errors import InvalidTypeError

_Code = Callable[[Any], Any]


def encode_value(value: Any) -> Any:
    """A value as JSON has it; one that JSON has no form for as an object with its kind."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is list:
        return encode_values(value)
    if kind is not np.timedelta64 and isinstance(value, np.number | np.bool_ | np.str_ | np.bytes_):
        return encode_value(value.item())
    name = _NAMES.get(kind)
    if name is None:
        raise InvalidTypeError(
            f"{value!r} is no plain data but a {kind.__module__}.{kind.__qualname__}; map elements to rows, tuples or "
            "dicts before the sink"
        )
    return {name: _ENCODERS[name](value)}


def decode_value(plain: Any) -> Any:
    """The value that `encode_value` was given."""
    if isinstance(plain, list):
        return decode_values(plain)
    if isinstance(plain, dict):
        ((name, content),) = plain.items()
        return _DECODERS[name](content)
    return plain


def encode_values(values: Iterable[Any]) -> list[Any]:
    return [encode_value(value) for value in values]


def decode_values(plain: Iterable[Any]) -> list[Any]:
    return [decode_value(value) for value in plain]


def register_plain(kind: type, name: str, encode: _Code, decode: _Code) -> None:
    """Let values of exactly this type be plain data: `encode` gives what JSON has, `decode` makes the value of it."""
    _NAMES[kind] = name
    _ENCODERS[name] = encode
    _DECODERS[name] = decode


def _pairs(mapping: Mapping[Any, Any]) -> list[Any]:
    return [[encode_value(key), encode_value(value)] for key, value in mapping.items()]


_NAMES: Final[dict[type, str]] = {}
_ENCODERS: Final[dict[str, _Code]] = {}
_DECODERS: Final[dict[str, _Code]] = {"float": float}

register_plain(tuple, "tuple", encode_values, lambda items: tuple(decode_values(items)))
register_plain(dict, "dict", _pairs, lambda pairs: {decode_value(key): decode_value(value) for key, value in pairs})
register_plain(set, "set", encode_values, lambda items: set(decode_values(items)))
register_plain(frozenset, "frozenset", encode_values, lambda items: frozenset(decode_values(items)))
register_plain(bytes, "bytes", lambda data: base64.b64encode(data).decode(), base64.b64decode)
register_plain(
    datetime.datetime,
    "datetime",
    lambda moment: [moment.isoformat(), moment.fold],
    lambda plain: datetime.datetime.fromisoformat(plain[0]).replace(fold=plain[1]),
)
register_plain(datetime.date, "date", datetime.date.isoformat, datetime.date.fromisoformat)
register_plain(
    datetime.time,
    "time",
    lambda moment: [moment.isoformat(), moment.fold],
    lambda plain: datetime.time.fromisoformat(plain[0]).replace(fold=plain[1]),
)
register_plain(
    datetime.timedelta,
    "timedelta",
    lambda delta: [delta.days, delta.seconds, delta.microseconds],
    lambda parts: datetime.timedelta(*parts),
)
register_plain(Decimal, "decimal", str, Decimal)
register_plain(DeadLetter, "dead letter", encode_values, lambda items: DeadLetter(*decode_values(items)))
register_plain(Watermark, "watermark", lambda watermark: watermark.timestamp, Watermark)
register_plain(WatermarkStatus, "status", lambda status: status.value, WatermarkStatus)
