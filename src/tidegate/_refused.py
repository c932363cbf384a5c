"""What PyFlink has and Tidegate does not, by the path a program would import it from, each with the reason.

A program whose imports were rewritten learns why a name is missing, and what to use instead. The page of compatibility
is made from this list too.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final, NoReturn

from tidegate.errors import UnsupportedImportError

_BACKENDS: Final = "there is no choice of state backends"
_CHECKPOINTS: Final = "the checkpoint directory is `get_execution_environment(checkpoint=...)`"
_SLOTS: Final = "Spark places tasks"
_SINK: Final = "no connector; write a `Sink`"
_SOURCE_OR_SINK: Final = "no connector; write a `Source` or a `Sink`"
_DYNAMIC_KAFKA: Final = "the clusters and topics are fixed; use `KafkaSource`"
_OLD_KAFKA: Final = "the older connector, which Flink itself has replaced by `KafkaSource` and `KafkaSink`"
_FORMATS: Final = "not yet; read and write text, and convert it in a `map`"
_INTERNAL: Final = "PyFlink's own machinery; there is nothing to take its place"
_JAVA_SINK: Final = "wraps a Java class; write a `Sink`"
_JAVA_ASSIGNER: Final = "wraps a Java assigner; write an `AssignerWithPeriodicWatermarks` in Python"
_BULK: Final = "files are written by rows; give `FileSink.for_row_format` an `Encoder`"
_COMPACTION: Final = "files are not compacted"
_PREPROCESSING: Final = "PyFlink's way to convert elements before a Java sink"

MODULES: Final[Mapping[str, str]] = {
    "tidegate.common.io": "Java input formats; write a `Source`",
    "tidegate.datastream.checkpoint_storage": _CHECKPOINTS,
    "tidegate.datastream.connectors.cassandra": _SINK,
    "tidegate.datastream.connectors.dynamic_kafka": _DYNAMIC_KAFKA,
    "tidegate.datastream.connectors.elasticsearch": _SINK,
    "tidegate.datastream.connectors.hybrid_source": "read the old data first, with a checkpoint, then the new",
    "tidegate.datastream.connectors.jdbc": _SINK,
    "tidegate.datastream.connectors.kinesis": _SOURCE_OR_SINK,
    "tidegate.datastream.connectors.pulsar": _SOURCE_OR_SINK,
    "tidegate.datastream.connectors.rabbitmq": _SOURCE_OR_SINK,
    "tidegate.datastream.formats": _FORMATS,
    "tidegate.datastream.slot_sharing_group": _SLOTS,
    "tidegate.datastream.state_backend": _BACKENDS,
    "tidegate.fn_execution": _INTERNAL,
    "tidegate.java_gateway": "there is no Java behind Tidegate's objects",
    "tidegate.table": "Tidegate has the DataStream API; for tables use Spark's DataFrames and `from_dataframe`",
    "tidegate.util": _INTERNAL,
}
"""Modules with everything in them."""

NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "tidegate.common": {"AssignerWithPeriodicWatermarksWrapper": _JAVA_ASSIGNER},
    "tidegate.common.constants": {"DEFAULT_OUTPUT_TAG": "PyFlink's own mark for the main output"},
    "tidegate.common.serialization": {
        "BulkWriterFactory": _BULK,
        "RowFieldExtractorSchema": "made for Kafka keys in Java; write a `SerializationSchema`",
    },
    "tidegate.common.typeinfo": {
        "ExternalTypeInfo": "wraps a Java type",
        "InstantTypeInfo": "`Types.INSTANT()` is a `BasicTypeInfo` here",
        "LocalTimeTypeInfo": "`Types` makes none of these, in PyFlink either; "
        "use `SQL_DATE`, `SQL_TIME` and `SQL_TIMESTAMP`",
    },
    "tidegate.common.watermark_strategy": {"AssignerWithPeriodicWatermarksWrapper": _JAVA_ASSIGNER},
    "tidegate.datastream": {
        **dict.fromkeys(("CheckpointStorage", "CustomCheckpointStorage"), _CHECKPOINTS),
        **dict.fromkeys(("FileSystemCheckpointStorage", "JobManagerCheckpointStorage"), _CHECKPOINTS),
        **dict.fromkeys(("CustomStateBackend", "EmbeddedRocksDBStateBackend", "HashMapStateBackend"), _BACKENDS),
        **dict.fromkeys(("PredefinedOptions", "StateBackend"), _BACKENDS),
        **dict.fromkeys(("MemorySize", "SlotSharingGroup"), _SLOTS),
        "SinkFunction": _JAVA_SINK,
    },
    "tidegate.datastream.connectors": {
        **dict.fromkeys(("DynamicKafkaSource", "DynamicKafkaSourceBuilder", "KafkaMetadataService"), _DYNAMIC_KAFKA),
        **dict.fromkeys(("KafkaRecordDeserializationSchema", "KafkaStreamSetSubscriber"), _DYNAMIC_KAFKA),
        **dict.fromkeys(("KafkaStreamSubscriber", "StreamPatternSubscriber"), _DYNAMIC_KAFKA),
        "SingleClusterTopicMetadataService": _DYNAMIC_KAFKA,
        **dict.fromkeys(("FlinkKafkaConsumer", "FlinkKafkaProducer", "Semantic"), _OLD_KAFKA),
        **dict.fromkeys(("JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"), _SINK),
        **dict.fromkeys(("PulsarSource", "PulsarSourceBuilder", "StartCursor", "StopCursor"), _SOURCE_OR_SINK),
        **dict.fromkeys(("RMQConnectionConfig", "RMQSink", "RMQSource"), _SOURCE_OR_SINK),
    },
    "tidegate.datastream.connectors.base": {
        **dict.fromkeys(("StreamTransformer", "SupportsPreprocessing"), _PREPROCESSING),
    },
    "tidegate.datastream.connectors.file_system": {
        "BulkFormat": "files are read by lines; use `StreamFormat.text_line_format()`, or write a `StreamFormat`",
        **dict.fromkeys(("FileCompactStrategy", "FileCompactor"), _COMPACTION),
    },
    "tidegate.datastream.connectors.kafka": {
        **dict.fromkeys(("FlinkKafkaConsumer", "FlinkKafkaProducer", "Semantic"), _OLD_KAFKA),
    },
    "tidegate.datastream.data_stream": {"CachedDataStream": "`cache` is refused"},
    "tidegate.datastream.functions": {
        "AsyncFunctionDescriptor": "PyFlink's own; use `AsyncDataStream`",
        "SinkFunction": _JAVA_SINK,
    },
    "tidegate.datastream.state": {
        "OperatorStateStore": "broadcast state comes from the context of a broadcast function",
    },
}
"""Names in modules that are there."""


def reason(module: str, name: str = "") -> str | None:
    """Why a name, or a whole module, is not there; None if nothing is known about it."""
    found = NAMES.get(module, {}).get(name.partition(".")[0])
    if found is not None:
        return found
    parents = [".".join(module.split(".")[:count]) for count in range(module.count(".") + 1, 0, -1)]
    return next((MODULES[parent] for parent in parents if parent in MODULES), None)


def refuse(module: str, name: str) -> NoReturn:
    """What the `__getattr__` of a module does with a name that it does not have.

    An `AttributeError` for any name, as usual. A name that PyFlink has raises an `ImportError` instead, because Python
    would replace an `AttributeError` by its own text when the name is imported.
    """
    why = reason(module, name)
    if why is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    raise UnsupportedImportError(f"cannot import {name!r} from {module!r}, which PyFlink has: {why}")


def refusing(module: str) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a module that has nothing else to do."""
    return functools.partial(refuse, module)


class _Finder(MetaPathFinder):
    """Asked last, for modules that nobody found."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        why = reason(fullname) if fullname.startswith("tidegate.") else None
        if why is not None:
            raise UnsupportedImportError(f"no module {fullname!r}, which PyFlink has: {why}", name=fullname)
        return None


def install() -> None:
    """Let Python say why a module of PyFlink is not there."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
