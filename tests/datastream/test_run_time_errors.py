"""What goes wrong while a program runs names the operator and the record, and keeps the user's error as its cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from tests.datastream.running import collect, local, stamped

from tidegate.common import Time, Types, WatermarkStrategy
from tidegate.datastream import (
    DEAD_LETTERS,
    AggregateFunction,
    CollectSink,
    DataStream,
    DeadLetter,
    FlatMapFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessWindowFunction,
    TumblingEventTimeWindows,
)
from tidegate.errors import InvalidTypeError, InvalidValueError, TidegateError, UserCodeError

TUMBLING = TumblingEventTimeWindows.of(Time.milliseconds(10))


def fails(value: Any, *_: Any) -> Any:
    if value[0] == "bad":
        raise ZeroDivisionError("cannot")
    return value


class FailsToProcess(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield fails(value)


class FailsToProcessKeyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return [fails(value)]


ASSIGNER = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: fails(value)[1])
STEPS: dict[str, Callable[..., DataStream]] = {
    "map": lambda stream, **options: stream.map(fails, **options),
    "flat_map": lambda stream, **options: stream.flat_map(lambda value: [fails(value)], **options),
    "filter": lambda stream, **options: stream.filter(fails, **options),
    "process": lambda stream, **options: stream.process(FailsToProcess(), **options),
    "keyed process": lambda stream, **options: stream.key_by(1).process(FailsToProcessKeyed(), **options),
    "assign": lambda stream, **options: stream.assign_timestamps_and_watermarks(ASSIGNER, **options),
}
EACH_STEP = pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)


@EACH_STEP
def test_an_error_of_the_user_names_the_operator_and_the_record(step: Callable[..., DataStream]) -> None:
    stream = step(local().from_collection([("good", 1), ("bad", 2)])).name("the step")
    with pytest.raises(UserCodeError, match=r"the step.*ZeroDivisionError.*cannot.*\('bad', 2\)") as caught:
        collect(stream)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@EACH_STEP
def test_a_bad_record_goes_to_the_dead_letters_if_asked(step: Callable[..., DataStream]) -> None:
    env = local()
    source = env.from_collection([("good", 1), ("bad", 2), ("good", 3)])
    stream = step(source, on_error="side_output").name("the step").uid("step")
    dead, alive = CollectSink(), CollectSink()
    stream.get_side_output(DEAD_LETTERS).sink_to(dead)
    stream.sink_to(alive)
    job = env.execute_async()
    job.wait(10)
    assert alive.results == [("good", 1), ("good", 3)]
    (letter,) = dead.results
    assert isinstance(letter, DeadLetter)
    assert letter.operator == "the step"
    assert letter.value == ("bad", 2)
    assert letter.timestamp is None
    assert "ZeroDivisionError" in letter.error
    assert sum(subtask["num_dead_letters"] for subtask in job.metrics()["step"]) == 1


def test_a_bad_record_without_a_reader_of_dead_letters_is_dropped_and_counted() -> None:
    env = local()
    env.from_collection([("bad", 1)]).map(fails, on_error="side_output").uid("step").print()
    job = env.execute_async()
    job.wait(10)
    assert job.metrics()["step"][0]["num_dead_letters"] == 1


# Keys


def test_an_error_of_the_key_selector_names_the_operator_and_the_record() -> None:
    stream = local().from_collection([("bad", 1)]).key_by(lambda value: fails(value)[0]).sum(1).name("sums")
    with pytest.raises(
        UserCodeError, match=r"sums: the key selector raised ZeroDivisionError: cannot, for the record \('bad', 1\)"
    ) as caught:
        collect(stream)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("key", [lambda value: fails(value)[0], "user", lambda value: [value[0]]])
def test_a_record_without_a_key_goes_to_the_dead_letters_if_asked(key: Any) -> None:
    env = local()
    keyed = env.from_collection([("bad", 1)]).key_by(key, on_error="side_output")
    dead, alive = CollectSink(), CollectSink()
    keyed.get_side_output(DEAD_LETTERS).sink_to(dead)
    keyed.sum(1).sink_to(alive)
    env.execute()
    assert alive.results == []
    assert [letter.value for letter in dead.results] == [("bad", 1)]


@pytest.mark.parametrize("field", ["user", 7])
def test_an_unknown_column_in_key_by_names_the_operator_and_the_record(field: Any) -> None:
    stream = local().from_collection([("a", 1)]).key_by(field).sum(1).name("sums")
    with pytest.raises(InvalidValueError, match=rf"sums.*the record \('a', 1\) has no field {field!r}"):
        collect(stream)


@pytest.mark.parametrize(
    "build", [lambda keyed: keyed.sum("amount"), lambda keyed: keyed.window(TUMBLING).sum("amount")]
)
def test_an_unknown_column_in_sum_names_the_operator_and_the_record(build: Callable[[Any], DataStream]) -> None:
    stream = build(stamped([("a", 1), ("a", 2)]).key_by(0)).name("sums")
    with pytest.raises(TidegateError, match=r"sums.*\('a', [12]\).*amount|sums.*amount.*\('a', [12]\)"):
        collect(stream)


def test_a_key_that_cannot_be_hashed_names_it() -> None:
    stream = local().from_collection([("a", 1)]).key_by(lambda value: [value[0]]).sum(1)
    with pytest.raises(
        InvalidTypeError, match=r"the key \['a'\] of type list cannot be hashed; return a string, a number"
    ):
        collect(stream)


# Types


class Text(FlatMapFunction):
    def flat_map(self, value: Any) -> Any:
        return "text"


class ProcessText(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return "text"


class KeyedProcessText(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return "text"


TEXTS: dict[str, Callable[..., DataStream]] = {
    "flat_map": lambda stream, **options: stream.flat_map(Text(), **options),
    "process": lambda stream, **options: stream.process(ProcessText(), **options),
    "keyed process": lambda stream, **options: stream.key_by(0).process(KeyedProcessText(), **options),
}
EACH_TEXT = pytest.mark.parametrize("step", TEXTS.values(), ids=TEXTS)


@EACH_TEXT
def test_a_text_is_no_list_of_results(step: Callable[..., DataStream]) -> None:
    stream = step(local().from_collection([("a", 1)])).name("the step")
    with pytest.raises(
        InvalidTypeError, match="the step: the function must yield its results or return a list of them"
    ):
        collect(stream)


@EACH_TEXT
def test_a_text_is_no_list_of_results_with_dead_letters_either(step: Callable[..., DataStream]) -> None:
    env = local()
    alive = CollectSink()
    step(env.from_collection([("a", 1)]), on_error="side_output").sink_to(alive)
    try:
        env.execute()
    except InvalidTypeError:
        return
    assert alive.results == []


@pytest.mark.parametrize(
    "build",
    [
        lambda stream: stream.map(lambda value: value[0], output_type=Types.INT()),
        lambda stream: stream.key_by(0).process(Whole(), output_type=Types.INT()),
    ],
)
def test_a_value_that_is_not_of_the_declared_type_names_the_operator_and_the_value(
    build: Callable[[DataStream], DataStream],
) -> None:
    stream = build(local().from_collection([("a", 1)])).name("typed")
    with pytest.raises(InvalidTypeError, match=r"typed.*'a'"):
        collect(stream)


class Whole(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value[0]


def test_values_of_the_declared_type_pass_in_its_form() -> None:
    typed = local().from_collection([1, 2]).map(lambda value: value, output_type=Types.DOUBLE())
    assert collect(typed) == [1.0, 2.0]
    assert [type(value) for value in collect(typed)] == [float, float]


# Windows


class FailsToAdd(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        raise ZeroDivisionError("cannot")

    def get_result(self, accumulator: Any) -> Any:
        return accumulator


class FailsToFire(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        raise ZeroDivisionError("cannot")


@pytest.mark.parametrize(
    "build", [lambda windows: windows.aggregate(FailsToAdd()), lambda windows: windows.process(FailsToFire())]
)
def test_an_error_in_a_window_is_not_blamed_on_the_operator_before_it(build: Callable[[Any], DataStream]) -> None:
    innocent = stamped([("a", 1), ("a", 50)]).flat_map(lambda value: [value]).name("innocent")
    stream = build(innocent.key_by(0).window(TUMBLING)).name("the window")
    with pytest.raises(UserCodeError, match=r"^the window.*ZeroDivisionError: cannot") as caught:
        collect(stream)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_records_without_timestamps_are_refused_where_they_are_needed() -> None:
    # The strategy gives watermarks and no timestamps.
    stream = local().from_collection([("a", 1)]).assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks())
    with pytest.raises(InvalidValueError, match=r"the record \('a', 1\) has no timestamp; call assign_timestamps_and"):
        collect(stream.key_by(0).window(TUMBLING).sum(1))


@pytest.mark.parametrize("timestamp", ["5", 1.5, None, True])
def test_a_timestamp_that_is_no_integer_names_the_operator_and_the_record(timestamp: Any) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: timestamp)
    stream = local().from_collection(["x"]).assign_timestamps_and_watermarks(strategy).name("stamp")
    with pytest.raises(
        InvalidTypeError, match="stamp: timestamp of the record 'x': a timestamp is an integer in milli"
    ):
        collect(stream)
