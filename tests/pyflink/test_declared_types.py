"""Values of sources and side outputs take the form of the type that was declared for them."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tidegate.common import Row, Types, WatermarkStrategy
from tidegate.datastream import OutputTag, ProcessFunction, SourceFunction, StreamExecutionEnvironment
from tidegate.datastream.connectors import NumberSequenceSource
from tidegate.errors import InvalidTypeError

PERSON = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])


def test_a_collection_takes_the_form_of_its_type() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    people = env.from_collection([("Ann", 30), Row("Ben", 40)], type_info=PERSON)
    assert people.get_type() == PERSON
    assert list(people.map(lambda person: (person.name, person["age"])).execute_and_collect()) == [
        ("Ann", 30),
        ("Ben", 40),
    ]


def test_numbers_of_a_collection_are_rounded_as_their_type_asks() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    assert list(env.from_collection([1, 2], type_info=Types.DOUBLE()).map(str).execute_and_collect()) == ["1.0", "2.0"]
    single = env.from_collection([1.1], type_info=Types.FLOAT())
    assert list(single.execute_and_collect()) == [1.100000023841858]


def test_an_element_that_does_not_fit_is_refused_when_the_program_is_built() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    message = "from_collection: element 1: field 'age': expected INT, got str 'old'; change type_info or the element"
    with pytest.raises(InvalidTypeError, match=re.escape(message)):
        env.from_collection([("Ann", 30), ("Ben", "old")], type_info=PERSON)


def test_what_a_source_gives_takes_the_form_of_its_type() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: int(value))
    numbers = env.from_source(NumberSequenceSource(1, 2), strategy, "numbers", Types.DOUBLE())
    assert numbers.get_type() == Types.DOUBLE()
    assert list(numbers.map(str).execute_and_collect()) == ["1.0", "2.0"]


class Pairs(SourceFunction):
    def run(self, ctx: Any) -> None:
        ctx.collect(("Ann", 30))
        ctx.collect(("Ben", None))

    def cancel(self) -> None:
        pass


def test_what_a_source_function_collects_takes_the_form_of_its_type() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    people = env.add_source(Pairs(), "people", PERSON)
    assert list(people.map(lambda person: person.age).execute_and_collect()) == [30, None]


def test_a_source_that_gives_something_else_is_named() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    people = env.add_source(Pairs(), "people", Types.STRING())
    message = r"people: expected STRING, got tuple \('Ann', 30\); change type_info or what the source gives"
    with pytest.raises(InvalidTypeError, match=message):
        list(people.execute_and_collect())


class ToSide(ProcessFunction):
    def __init__(self, tag: OutputTag) -> None:
        self.tag = tag

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield self.tag, value


def side_output(tag: OutputTag, value: Any) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    return list(env.from_collection([value]).process(ToSide(tag)).get_side_output(tag).execute_and_collect())


def test_a_side_output_takes_the_form_of_the_type_of_its_tag() -> None:
    assert side_output(OutputTag("people", PERSON), ("Ann", 30)) == [Row(name="Ann", age=30)]
    assert side_output(OutputTag("rows", [Types.INT(), Types.STRING()]), (1, "a"))[0].f1 == "a"
    assert side_output(OutputTag("any"), ("Ann", 30)) == [("Ann", 30)]


def test_a_value_that_does_not_fit_its_tag_is_refused() -> None:
    message = "side output numbers: expected INT, got str 'x'; change the type of the OutputTag or what is sent to it"
    with pytest.raises(InvalidTypeError, match=re.escape(message)):
        side_output(OutputTag("numbers", Types.INT()), "x")


def test_a_tag_needs_a_type_that_is_one() -> None:
    with pytest.raises(InvalidTypeError, match=r"OutputTag 'numbers': expected a type such as Types.INT\(\).*add \(\)"):
        side_output(OutputTag("numbers", Types.INT), 1)
