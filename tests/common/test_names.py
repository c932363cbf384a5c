"""PyFlink's names are here, under PyFlink's paths, with PyFlink's arguments."""

import importlib
import inspect
import io
from typing import IO

import pytest

import tidegate.common
from tidegate.common import TypeSerializer

PYFLINK_EXPORTS = [
    "Configuration",
    "ConfigOption",
    "ConfigOptions",
    "ExecutionConfig",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "SerializationSchema",
    "DeserializationSchema",
    "SimpleStringSchema",
    "ByteArraySchema",
    "Encoder",
    "CompletableFuture",
    "InputDependencyConstraint",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "WatermarkStrategy",
    "Duration",
    "Instant",
    "Time",
    "AssignerWithPeriodicWatermarksWrapper",
]
LEFT_OUT = {"AssignerWithPeriodicWatermarksWrapper"}
"""A wrapper around a Java object."""

PATHS = {
    "completable_future": "CompletableFuture",
    "config_options": "ConfigOption ConfigOptions",
    "configuration": "Configuration",
    "constants": "MAX_LONG_VALUE MIN_LONG_VALUE",
    "execution_config": "ExecutionConfig",
    "input_dependency_constraint": "InputDependencyConstraint",
    "job_client": "JobClient",
    "job_execution_result": "JobExecutionResult",
    "job_id": "JobID",
    "job_status": "JobStatus",
    "restart_strategy": "RestartStrategies RestartStrategyConfiguration",
    "serialization": "ByteArraySchema DeserializationSchema Encoder SerializationSchema SimpleStringSchema",
    "serializer": "TypeSerializer",
    "time": "Duration Instant Time",
    "typeinfo": "BasicTypeInfo RowTypeInfo TupleTypeInfo TypeInformation Types",
    "types": "Row RowKind",
    "watermark_strategy": "TimestampAssigner WatermarkStrategy",
}

ARGUMENTS = {
    "typeinfo.Types.ROW": "field_types",
    "typeinfo.Types.ROW_NAMED": "field_names field_types",
    "typeinfo.Types.TUPLE": "field_types",
    "typeinfo.Types.LIST": "element_type_info",
    "typeinfo.Types.MAP": "key_type_info value_type_info",
    "typeinfo.Types.BASIC_ARRAY": "element_type",
    "typeinfo.Types.OBJECT_ARRAY": "element_type",
    "typeinfo.Types.PRIMITIVE_ARRAY": "element_type",
    "types.Row.of_kind": "row_kind args kwargs",
    "configuration.Configuration.add_all": "self other prefix",
    "execution_config.ExecutionConfig.set_auto_watermark_interval": "self interval",
    "execution_config.ExecutionConfig.set_global_job_parameters": "self global_job_parameters_dict",
    "restart_strategy.RestartStrategies.fixed_delay_restart": "restart_attempts delay_between_attempts",
    "restart_strategy.RestartStrategies.failure_rate_restart": "failure_rate failure_interval delay_interval",
    "serialization.SimpleStringSchema": "charset",
    "serialization.Encoder.simple_string_encoder": "charset_name",
    "time.Instant": "seconds nanos",
    "time.Instant.of_epoch_milli": "epoch_milli",
}


@pytest.mark.parametrize("name", PYFLINK_EXPORTS)
def test_name_of_pyflink_is_exported_or_left_out_on_purpose(name: str) -> None:
    assert (name in tidegate.common.__all__) != (name in LEFT_OUT)


@pytest.mark.parametrize(("module", "names"), PATHS.items())
def test_name_has_the_path_of_pyflink(module: str, names: str) -> None:
    found = importlib.import_module(f"tidegate.common.{module}")
    assert [name for name in names.split() if not hasattr(found, name)] == []


@pytest.mark.parametrize(("path", "arguments"), ARGUMENTS.items())
def test_arguments_have_the_names_of_pyflink(path: str, arguments: str) -> None:
    module, *names = path.split(".")
    found = importlib.import_module(f"tidegate.common.{module}")
    for name in names:
        found = getattr(found, name)
    assert list(inspect.signature(found).parameters) == arguments.split()  # type: ignore[arg-type]


def test_users_write_their_own_serializers() -> None:
    class Flag(TypeSerializer[bool]):
        def serialize(self, element: bool, stream: IO[bytes]) -> None:
            stream.write(b"\1" if element else b"\0")

        def deserialize(self, stream: IO[bytes]) -> bool:
            return stream.read(1) == b"\1"

    stream = io.BytesIO()
    Flag().serialize(True, stream)
    stream.seek(0)
    assert Flag().deserialize(stream)
