"""Values that users write are frozen, have slots, and survive pickling: they travel to Spark's workers."""

import dataclasses
import enum
import functools
import importlib
import inspect
import pickle
import pkgutil
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cloudpickle
import pyarrow as pa
import pytest

import tidegate
from tidegate.cli.live import ChannelState
from tidegate.common import Types
from tidegate.common.typeinfo import DeclaredType
from tidegate.core.aggregate.choices import First, Last, MaxBy, MinBy
from tidegate.core.aggregate.collections import CollectList, CountDistinct
from tidegate.core.aggregate.totals import Max, Mean, Min, Stddev, Sum
from tidegate.core.time.duration import Duration, Time
from tidegate.core.time.millis import TimeCharacteristic
from tidegate.core.watermark import strategy, timestamps
from tidegate.core.watermark.alignment import AlignmentParameters
from tidegate.core.watermark.generators import PerEventWatermarks
from tidegate.core.watermark.legacy_assigners import AssignerWithPunctuatedWatermarks
from tidegate.core.watermark.records import Record, Watermark, WatermarkStatus
from tidegate.core.watermark.strategy import WatermarkStrategy
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.connectors.kafka import KafkaOffsetsInitializer
from tidegate.datastream.part_files import PartNames
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.engine.job_options import JobOptions
from tidegate.engine.program import OperatorRecord, ProgramRecord
from tidegate.errors import TidegateError
from tidegate.ingest.file_formats import Csv, JsonLines
from tidegate.ingest.fitting import Fitting
from tidegate.local.job import LocalJob
from tidegate.spark.state.rescaled_state import Dumping
from tidegate.testing.transcript.case import Case, Failure


class EveryRecord(AssignerWithPunctuatedWatermarks):
    """An assigner of an older program."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return 0

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)

    def check_and_get_next_watermark(self, last_element: Any, extracted_timestamp: int) -> int:
        return extracted_timestamp


SIMPLE: Mapping[Any, Any] = {
    int: 1,
    float: 1.0,
    str: "a",
    bytes: b"a",
    bool: True,
    Any: "a",
    Callable[[], Any]: dict,
    Time: Time.seconds(1),
}

WINDOW = OperatorRecord("sums", "window", 1, 2, [["source"]], {"kind": "window"})
BOUNDED = WatermarkStrategy.for_bounded_out_of_orderness("10 seconds")

EXAMPLES: tuple[Any, ...] = (
    AlignmentParameters("group", 10, 500),
    Duration.of_seconds(2),
    PartNames(Path("out"), suffix=".json"),
    Time.minutes(1),
    Watermark(5),
    Watermark.MIN,
    Watermark.MAX,
    WINDOW,
    Dumping("dumps", (1, 2), 3, 0),
    ProgramRecord(2, 2, 128, 1, {"window": WINDOW}),
    Fitting("in.parquet", {"amount": pa.int64()}),
    ChannelState("partition 0", 5, False),
    Csv(pa.schema([("user", pa.string())])),
    JsonLines(pa.schema([("user", pa.string())])),
    KafkaOffsetsInitializer.timestamp(5),
    timestamps.RecordTimestampAssigner(),
    timestamps.FunctionTimestampAssigner(max),
    timestamps.ColumnTimestampAssigner("ts"),
    strategy.Bounded(10),
    strategy.Ascending(),
    strategy.NoWatermarks(),
    strategy.PerEvent(),
    strategy.UserGenerator(PerEventWatermarks),
    strategy.Legacy(EveryRecord()),
    BOUNDED,
    BOUNDED.with_timestamp_assigner(max),
    BOUNDED.with_timestamp_column("ts").with_idleness("1 minute"),
    BOUNDED.with_watermark_alignment("group", "1 second").with_max_future_skew("1 hour", "future"),
    WatermarkStrategy.for_monotonous_timestamps(),
    WatermarkStrategy.no_watermarks(),
    WatermarkStrategy.for_punctuated_timestamps(),
    WatermarkStrategy.for_generator(PerEventWatermarks),
    WatermarkStrategy.of(EveryRecord()),
    *(kind("amount") for kind in (Sum, Min, Max, First, Last, Mean, Stddev, CollectList, CountDistinct)),
    MinBy("amount", "ts"),
    MaxBy("amount", "ts"),
    Types.LIST(Types.INT()),
    Types.MAP(Types.STRING(), Types.LONG()),
    Types.TUPLE([Types.STRING(), Types.LONG()]),
    Types.ROW_NAMED(["a"], [Types.INT()]),
    Types.OBJECT_ARRAY(Types.STRING()),
    Types.BASIC_ARRAY(Types.STRING()),
    Types.PRIMITIVE_ARRAY(Types.INT()),
    DeclaredType(Types.INT(), "change type_info"),
    Case("valve.yaml", "a case", "valve", {"channels": 1}, ({"wm": [0, 1]},)),
    Failure(1, [1], [2]),
)


@pytest.fixture(scope="module")
def frozen_types() -> list[type]:
    """Every frozen dataclass of the package."""
    found = []
    for module in pkgutil.walk_packages(tidegate.__path__, "tidegate."):
        if not module.name.endswith("__main__"):
            members = vars(importlib.import_module(module.name)).values()
            found += [m for m in members if isinstance(m, type) and m.__module__ == module.name and is_frozen(m)]
    return [value_type for value_type in found if not inspect.isabstract(value_type)]


def is_frozen(value_type: type) -> bool:
    parameters = getattr(value_type, "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)


def remembers(value_type: type) -> bool:
    """Whether a value keeps what is computed from it, for which it needs room."""
    return any(isinstance(member, functools.cached_property) for member in vars(value_type).values())


def is_part_of_a_program(value_type: type) -> bool:
    """Nodes and operator specs hold functions of the user; a whole program is pickled below."""
    is_spec = value_type.__name__.endswith(("Spec", "SparkType"))
    return is_spec or value_type.__module__.startswith(("tidegate.graph.", "tidegate.engine.", "tidegate.cli."))


def simple_example(value_type: Any) -> Any:
    """A value made of defaults, ones, letters and first members; None if its fields ask for more than that."""
    if value_type in SIMPLE:
        return SIMPLE[value_type]
    if isinstance(value_type, type) and issubclass(value_type, enum.Enum):
        return next(iter(value_type))
    if not dataclasses.is_dataclass(value_type):
        return None
    hints = typing.get_type_hints(value_type)
    arguments = {
        field.name: simple_example(hints[field.name])
        for field in dataclasses.fields(value_type)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    if None in arguments.values():
        return None
    try:
        return value_type(**arguments)  # type: ignore[operator]
    except TidegateError:
        return None


def test_every_frozen_value_is_checked_here(frozen_types: list[type]) -> None:
    assert len(frozen_types) > 5
    have_examples = {type(example) for example in EXAMPLES}
    for value_type in frozen_types:
        if value_type not in have_examples and not is_part_of_a_program(value_type):
            example = simple_example(value_type)
            assert example is not None, f"add a {value_type.__qualname__} to EXAMPLES"
            assert pickle.loads(pickle.dumps(example)) == example


def test_every_frozen_value_has_slots(frozen_types: list[type]) -> None:
    without = [value_type for value_type in frozen_types if "__slots__" not in vars(value_type)]
    assert [value_type for value_type in without if not remembers(value_type)] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=repr)
def test_value_cannot_be_changed(example: Any) -> None:
    for field in dataclasses.fields(example):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(example, field.name, getattr(example, field.name))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("example", [*EXAMPLES, Record("value", 5)], ids=repr)
def test_value_survives_pickling(example: Any, protocol: int) -> None:
    assert pickle.loads(pickle.dumps(example, protocol)) == example


@pytest.mark.parametrize("member", [*WatermarkStatus, *TimeCharacteristic], ids=str)
def test_enum_member_stays_itself_after_pickling(member: Any) -> None:
    assert pickle.loads(pickle.dumps(member)) is member


def test_strategy_from_a_pickle_still_creates_its_generator() -> None:
    copy = pickle.loads(pickle.dumps(WatermarkStrategy.for_generator(PerEventWatermarks)))
    assert isinstance(copy.create_generator(), PerEventWatermarks)


def test_a_whole_program_survives_pickling_and_still_runs(capsys: pytest.CaptureFixture[str]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=2)
    stamped = env.from_collection([("a", 1), ("b", 5), ("a", 7)]).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: pair[1])
    )
    stamped.key_by(0).window(TumblingEventTimeWindows.of("10 ms")).sum(1).map(str).sink_to(CollectSink())
    stamped.filter(lambda pair: pair[0] == "b").print()
    graph = cloudpickle.loads(cloudpickle.dumps(env._graph()))
    LocalJob(graph, JobOptions()).run()
    assert capsys.readouterr().out == "('b', 5)\n"
