"""The library confluent-kafka: installed on request, and what it says of its properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tidegate.errors import MissingLibraryError

BOOTSTRAP: Final = "bootstrap.servers"
_JAVA_ONLY: Final = {
    "buffer.memory": "use 'queue.buffering.max.kbytes'",
    "key.deserializer": "leave it out, set_value_only_deserializer does this",
    "key.serializer": "leave it out, the record serializer does this",
    "max.block.ms": "leave it out, a full queue waits",
    "max.poll.records": "use set_max_rows_per_batch",
    "max.request.size": "use 'message.max.bytes'",
    "sasl.jaas.config": "use 'sasl.username' and 'sasl.password'",
    "ssl.keystore.type": "use 'ssl.keystore.location' with a PKCS#12 file",
    "ssl.truststore.location": "use 'ssl.ca.location' with a PEM file",
    "ssl.truststore.password": "use 'ssl.ca.location' with a PEM file",
    "value.deserializer": "leave it out, set_value_only_deserializer does this",
    "value.serializer": "leave it out, the record serializer does this",
}
"""Properties of the Java client that librdkafka has not, and what to do."""


def check_library(who: str) -> None:
    """Fail while the program is built, not when its first record comes."""
    try:
        import confluent_kafka  # noqa: F401
    except ImportError as error:
        raise MissingLibraryError(
            f"{who} needs the library confluent-kafka ({error}); install it: pip install 'tidegate[kafka]'"
        ) from error


def property_problem(error: BaseException, properties: Mapping[str, str]) -> str:
    """Why the library does not accept these properties."""
    known = [
        f"property {name!r} is of the Java client; {_JAVA_ONLY[name]}" for name in properties if name in _JAVA_ONLY
    ]
    if known:
        return "; ".join(known)
    said = error.args[0] if error.args else error
    text = said.str() if hasattr(said, "str") else str(said)
    return f"a property is not accepted: {text}; set_property takes the names of librdkafka"
