"""Streams without time: words, rows, side outputs, partitions."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tidegate.common import Configuration, Row, Types
from tidegate.datastream import (
    DataStream,
    FilterFunction,
    FlatMapFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from tidegate.datastream.connectors.number_seq import NumberSequenceSource
from tidegate.datastream.functions import KeySelector, ReduceFunction

LINES = ["tides turn", "the tide turns", "time and tide"]


def collected(stream: DataStream) -> list[Any]:
    return list(stream.execute_and_collect())


def test_words_are_counted_as_they_come() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)

    def split(line: str) -> Iterator[str]:
        yield from line.split()

    counts = (
        env.from_collection(LINES)
        .flat_map(split)
        .map(lambda word: (word, 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0])
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )
    results = collected(counts)
    assert dict(results) == {"tides": 1, "turn": 1, "the": 1, "tide": 2, "turns": 1, "time": 1, "and": 1}
    assert [pair for pair in results if pair[0] == "tide"] == [("tide", 1), ("tide", 2)]


class Split(FlatMapFunction):
    def flat_map(self, value: str) -> list[str]:
        return value.split()


class Length(MapFunction):
    def map(self, value: str) -> tuple[str, int]:
        return value, len(value)


class Short(FilterFunction):
    def filter(self, value: tuple[str, int]) -> bool:
        return value[1] <= 4


class FirstLetter(KeySelector):
    def get_key(self, value: tuple[str, int]) -> str:
        return value[0][0]


class Longest(ReduceFunction):
    def reduce(self, value1: tuple[str, int], value2: tuple[str, int]) -> tuple[str, int]:
        return max(value1, value2, key=lambda pair: pair[1])


def test_functions_may_be_classes() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(LINES).flat_map(Split()).map(Length()).filter(Short()).key_by(FirstLetter())
    results = collected(stream.reduce(Longest()))
    assert results == [("turn", 4), ("turn", 4), ("turn", 4), ("turn", 4), ("and", 3), ("turn", 4)]


PEOPLE = [
    (1, '{"name": "Ada", "age": 36, "address": {"city": "London"}}'),
    (2, '{"name": "Grace", "age": 85, "address": {"city": "Arlington"}}'),
    (3, '{"name": "Alan", "age": 41, "address": {"city": "London"}}'),
]


def test_rows_have_the_fields_that_the_type_names() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = env.from_collection(
        collection=PEOPLE, type_info=Types.ROW_NAMED(["id", "info"], [Types.INT(), Types.STRING()])
    )

    def birthday(row: Row) -> tuple[int, int]:
        return row.id, json.loads(row.info)["age"] + 1

    assert collected(rows.map(birthday)) == [(1, 37), (2, 86), (3, 42)]
    assert collected(rows.filter(lambda row: row["id"] == 2).map(lambda row: row.info)) == [PEOPLE[1][1]]
    by_city = rows.map(lambda row: (json.loads(row.info)["address"]["city"], json.loads(row.info)["age"]))
    assert collected(by_city.key_by(lambda pair: pair[0]).sum(1)) == [("London", 36), ("Arlington", 85), ("London", 77)]


def test_a_program_may_run_several_times(capsys: pytest.CaptureFixture[str]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
    numbers.map(lambda n: n * 10).print()
    env.execute("first")
    numbers.filter(lambda n: n > 1).print()
    env.execute("second")
    assert capsys.readouterr().out == "10\n20\n30\n2\n3\n"


ODD = OutputTag("odd", Types.STRING())


class SplitByParity(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2:
            yield ODD, f"odd {value}"
        else:
            yield value


def test_a_side_output_carries_what_the_main_one_does_not() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    main = env.from_collection([1, 2, 3, 4], type_info=Types.INT()).process(SplitByParity(), Types.INT())
    assert collected(main) == [2, 4]
    assert collected(main.get_side_output(ODD)) == ["odd 1", "odd 3"]


def test_united_streams_are_one() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    small = env.from_collection([1, 2], type_info=Types.INT())
    large = env.from_collection([100, 200], type_info=Types.INT())
    united = small.union(large)
    assert united.get_type() == Types.INT()
    assert sorted(collected(united.map(lambda n: n + 1))) == [2, 3, 101, 201]


def test_a_sequence_of_numbers_is_a_source() -> None:
    from tidegate.common import WatermarkStrategy

    env = StreamExecutionEnvironment.get_execution_environment(configuration=Configuration())
    numbers = env.from_source(
        source=NumberSequenceSource(1, 4),
        watermark_strategy=WatermarkStrategy.no_watermarks(),
        source_name="numbers",
        type_info=Types.LONG(),
    )
    assert collected(numbers.map(str)) == ["1", "2", "3", "4"]


def test_every_subtask_prints_under_its_own_number(capsys: pytest.CaptureFixture[str]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(3)
    env.from_collection([0, 1, 2]).partition_custom(lambda key, count: key % count, lambda n: n).print("out")
    env.execute()
    assert sorted(capsys.readouterr().out.split("\n")) == ["", "out:1> 0", "out:2> 1", "out:3> 2"]
