"""The sources that need no connector: collections, number ranges, sockets, source functions."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tidegate.common.typeinfo import TypeInformation
from tidegate.core.source.function_source import FunctionSource
from tidegate.core.source.source import Source
from tidegate.errors import InvalidTypeError, InvalidValueError, UserCodeError

__all__ = ["CollectionSource", "FunctionSource", "NumberSequenceSource", "SocketTextSource", "Source"]


class CollectionSource(Source):
    """The elements of a list, in one channel."""

    is_parallel = False

    def __init__(self, elements: Iterable[Any]) -> None:
        if isinstance(elements, str | bytes) or not isinstance(elements, Iterable):
            raise InvalidTypeError(f"from_collection: expected a list of elements, got {elements!r}")
        self._elements = list(elements)

    def converted(self, type_info: TypeInformation) -> CollectionSource:
        """The same elements in the form that the type gives them."""
        advice = "change type_info or the element"
        return CollectionSource(
            type_info.convert(element, f"from_collection: element {index}", advice)
            for index, element in enumerate(self._elements)
        )

    def channels(self) -> Sequence[str]:
        return ("0",)

    def read(self, channel: str) -> Iterator[Any]:
        return iter(self._elements)


class NumberSequenceSource(Source):
    """The integers from `start` to `end`, both included, in one or more channels."""

    def __init__(self, start: int, end: int, channels: int = 1) -> None:
        if end < start:
            raise InvalidValueError(f"from_range: the end {end} is before the start {start}")
        if channels < 1:
            raise InvalidValueError(f"from_range: channels must be 1 or more, got {channels}")
        self._start = start
        self._end = end
        self._channels = channels

    def channels(self) -> Sequence[str]:
        return tuple(map(str, range(self._channels)))

    def read(self, channel: str) -> Iterator[int]:
        return iter(range(self._start + int(channel), self._end + 1, self._channels))


class SocketTextSource(Source):
    """Lines of text from a server; the end of the connection is the end of the input."""

    is_bounded = False
    is_blocking = True
    is_replayable = False
    is_parallel = False

    def __init__(self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0) -> None:
        if not isinstance(hostname, str) or not hostname:
            raise InvalidValueError(f"socket_text_stream: expected the name of a host, got {hostname!r}")
        if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65536:
            raise InvalidValueError(f"socket_text_stream: a port is a number from 1 to 65535, got {port!r}")
        if not delimiter:
            raise InvalidValueError("socket_text_stream: the delimiter must not be empty")
        self.hostname = hostname
        self.port = port
        self.delimiter = delimiter
        self.max_retry = max_retry

    def channels(self) -> Sequence[str]:
        return (f"{self.hostname}:{self.port}",)

    def read(self, channel: str) -> Iterator[str]:
        with self._connect() as connection:
            delimiter = self.delimiter.encode()
            rest = b""
            while True:
                data = connection.recv(65536)
                if not data:
                    break
                *lines, rest = (rest + data).split(delimiter)
                for line in lines:
                    yield self._text(line)
            if rest:
                yield self._text(rest)

    def _text(self, line: bytes) -> str:
        text = line.decode("utf-8", "replace")
        return text.removesuffix("\r") if self.delimiter == "\n" else text

    def _connect(self) -> socket.socket:
        for attempt in range(self.max_retry + 1):
            try:
                return socket.create_connection((self.hostname, self.port))
            except OSError as error:
                if attempt == self.max_retry:
                    raise UserCodeError(
                        f"socket_text_stream: cannot connect to {self.hostname}:{self.port} ({error}); "
                        f"start the server first, for example: nc -lk {self.port}"
                    ) from error
        raise AssertionError("unreachable")
