"""Signatures of what is kept: with a key in the environment, only what was written with the same key is read.

Workers unpickle what they find in a checkpoint, so whoever can write there can run code on them. A key that stands
nowhere in the checkpoint takes that power away.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import Final, NoReturn

from tidegate.errors import InvalidValueError, SnapshotError

KEY_VARIABLE: Final = "TIDEGATE_CHECKPOINT_KEY"
_SHORTEST: Final = 16
_SIZE: Final = hashlib.sha256().digest_size
_PLAIN: Final = b"p"
_SIGNED: Final = b"s"


def signature(data: bytes, what: str) -> bytes | None:
    """The signature of data, None without a key. `what` is what the data is, so that it cannot stand for other data."""
    key = os.environb.get(KEY_VARIABLE.encode())
    if key is None:
        return None
    if len(key) < _SHORTEST:
        raise InvalidValueError(
            f"{KEY_VARIABLE} has {len(key)} bytes; a key that nobody guesses has {_SHORTEST} or more: make one with "
            "python -c 'import secrets; print(secrets.token_hex(32))'"
        )
    name = what.encode()
    return hmac.digest(key, len(name).to_bytes(4, "big") + name + data, "sha256")


def check_signature(data: bytes, what: str, found: bytes | None, where: str | None = None) -> None:
    """Refuse data that was not signed with the key of this process, or signed where it has none.

    `where` is how it is called for people.
    """
    expected = signature(data, what)
    if expected is None and found is None:
        return
    if expected is None:
        refuse(
            where or what, f"it is signed, and {KEY_VARIABLE} is not set here: set it to the key it was written with"
        )
    if found is None:
        refuse(
            where or what,
            f"it is not signed, and {KEY_VARIABLE} is set here: it was written without a key, or by somebody",
        )
    if not hmac.compare_digest(expected, found):
        refuse(where or what, f"it was not signed with the key of {KEY_VARIABLE}, or was changed since")


def refuse(what: str, why: str) -> NoReturn:
    raise SnapshotError(f"{what} is refused: {why}; nothing of it was read")


def seal(data: bytes, what: str) -> bytes:
    """Data with its signature before it, or the word that it has none."""
    signed = signature(data, what)
    return _PLAIN + data if signed is None else _SIGNED + signed + data


def unseal(sealed: bytes, what: str) -> bytes:
    """The data of what `seal` gave."""
    if sealed[:1] == _SIGNED:
        found, data = sealed[1 : 1 + _SIZE], sealed[1 + _SIZE :]
        check_signature(data, what, found)
        return data
    data = sealed[1:]
    check_signature(data, what, None)
    return data
