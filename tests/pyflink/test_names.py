"""Names are where PyFlink has them, and what is not there says why."""

import importlib
import io
import re
from typing import Any

import pytest

import tidegate.datastream
from tidegate import _refused
from tidegate.common import Time
from tidegate.datastream import window
from tidegate.errors import InvalidTypeError, InvalidValueError, UnsupportedImportError

PLACES = {
    "common": "InputDependencyConstraint",
    "common.input_dependency_constraint": "InputDependencyConstraint",
    "datastream": "AsyncRetryPredicate AsyncRetryStrategy CheckpointConfig CheckpointingMode CountWindow "
    "ExternalizedCheckpointRetention GlobalWindow MergingWindowAssigner RuntimeExecutionMode TimeWindow TimerService",
    "datastream.checkpoint_config": "CheckpointConfig",
    "datastream.checkpointing_mode": "CheckpointingMode",
    "datastream.connectors": "BucketAssigner DeliveryGuarantee FileSink FileSource NumberSequenceSource "
    "OutputFileConfig RollingPolicy Sink Source StreamFormat StreamingFileSink",
    "datastream.connectors.base": "DeliveryGuarantee Sink Source",
    "datastream.connectors.file_system": "BucketAssigner DefaultRollingPolicy FileEnumeratorProvider FileSink "
    "FileSource FileSourceBuilder FileSplitAssignerProvider OnCheckpointRollingPolicy OutputFileConfig RollingPolicy "
    "StreamFormat StreamingFileSink",
    "datastream.connectors.number_seq": "NumberSequenceSource",
    "datastream.data_stream": "AllWindowedStream BroadcastConnectedStream BroadcastStream CloseableIterator "
    "ConnectedStreams DataStream DataStreamSink KeyedStream WindowedStream",
    "datastream.execution_mode": "RuntimeExecutionMode",
    "datastream.externalized_checkpoint_retention": "ExternalizedCheckpointRetention",
    "datastream.functions": "TimerService",
    "datastream.state": "AppendingState MergingState ReadOnlyBroadcastState",
    "datastream.window": "CountWindow CountWindowSerializer GlobalWindowSerializer TimeWindowSerializer",
}


@pytest.mark.parametrize(("module", "names"), PLACES.items())
def test_name_has_the_path_of_pyflink(module: str, names: str) -> None:
    found = importlib.import_module(f"tidegate.{module}")
    assert [name for name in names.split() if not hasattr(found, name)] == []


def test_the_streams_of_one_module_are_those_of_the_others() -> None:
    data_stream: Any = importlib.import_module("tidegate.datastream.data_stream")
    for name in PLACES["datastream.data_stream"].split():
        assert getattr(data_stream, name) is getattr(tidegate.datastream, name)


@pytest.mark.parametrize("module", sorted(_refused.NAMES.keys() - _refused.MODULES.keys()))
def test_a_refused_name_says_why(module: str) -> None:
    for name, why in _refused.NAMES[module].items():
        with pytest.raises(
            UnsupportedImportError, match=re.escape(f"{name!r} from {module!r}, which PyFlink has: {why}")
        ):
            exec(f"from {module} import {name}")


@pytest.mark.parametrize("module", sorted(_refused.MODULES))
def test_a_refused_module_says_why(module: str) -> None:
    message = re.escape(f"no module {module!r}, which PyFlink has: {_refused.MODULES[module]}")
    with pytest.raises(UnsupportedImportError, match=message):
        importlib.import_module(module)
    with pytest.raises(ImportError, match=message):
        exec(f"from {module} import anything")


def test_a_module_below_a_refused_one_says_why() -> None:
    with pytest.raises(UnsupportedImportError, match=r"no module 'tidegate.datastream.formats', which PyFlink has"):
        importlib.import_module("tidegate.datastream.formats.json")


def test_a_name_that_pyflink_does_not_have_is_missing_as_usual() -> None:
    with pytest.raises(ImportError, match=r"cannot import name 'Submarine' from 'tidegate.datastream'"):
        exec("from tidegate.datastream import Submarine")
    assert not hasattr(tidegate.datastream, "Submarine")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'tidegate.submarine'"):
        importlib.import_module("tidegate.submarine")


def test_the_finder_is_there_once() -> None:
    import sys

    before = len(sys.meta_path)
    _refused.install()
    assert len(sys.meta_path) == before


def test_a_time_is_made_of_milliseconds() -> None:
    assert Time(milliseconds=5) == Time(5) == Time.milliseconds(5)
    assert Time(5).to_milliseconds() == 5


def test_a_count_window_has_a_number_and_no_end() -> None:
    assert window.CountWindow(3) == window.CountWindow(id=3)
    assert window.CountWindow(3) != window.CountWindow(4)
    assert repr(window.CountWindow(3)) == "CountWindow(id=3)"
    assert window.CountWindow(3).max_timestamp() == 2**63 - 1


@pytest.mark.parametrize(
    ("serializer", "value"),
    [
        (window.TimeWindowSerializer(), window.TimeWindow(-5, 10)),
        (window.CountWindowSerializer(), window.CountWindow(7)),
        (window.GlobalWindowSerializer(), window.GlobalWindow()),
    ],
)
def test_windows_are_written_one_after_the_other(serializer: Any, value: Any) -> None:
    stream = io.BytesIO()
    serializer.serialize(value, stream)
    serializer.serialize(value, stream)
    stream.seek(0)
    assert [serializer.deserialize(stream), serializer.deserialize(stream)] == [value, value]


def test_a_serializer_takes_windows_of_its_kind_only() -> None:
    message = r"TimeWindowSerializer: expected a TimeWindow, got CountWindow\(id=1\)"
    serializer: Any = window.TimeWindowSerializer()
    with pytest.raises(InvalidTypeError, match=message):
        serializer.serialize(window.CountWindow(1), io.BytesIO())


@pytest.mark.parametrize("kind", [window.DynamicEventTimeSessionWindows, window.DynamicProcessingTimeSessionWindows])
def test_dynamic_sessions_take_their_extractor_by_name(kind: Any) -> None:
    assigner = kind(session_window_time_gap_extractor=lambda element: 5)
    assert isinstance(assigner, window.MergingWindowAssigner)
    with pytest.raises(InvalidTypeError, match="expected a SessionWindowTimeGapExtractor or a function, got 5"):
        kind(5)


def test_numbers_are_milliseconds_in_constructors_only() -> None:
    assert window.TumblingEventTimeWindows(5, 1).offset == 1
    assert window.ContinuousEventTimeTrigger(5).interval == 5
    with pytest.raises(InvalidTypeError, match=r"TumblingEventTimeWindows.of: expected a Duration.*got int 5"):
        window.TumblingEventTimeWindows.of(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match=r"EventTimeSessionWindows.with_gap: expected a Duration.*got int 5"):
        window.EventTimeSessionWindows.with_gap(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="SlidingEventTimeWindows: slide must be longer than 0 ms, got 0 ms"):
        window.SlidingEventTimeWindows(5, 0)
