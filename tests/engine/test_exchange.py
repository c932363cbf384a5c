"""Where the outputs of a subtask go: one rule for keys, turns that survive a cut, and answers that are checked."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core.key.key_groups import KeyGroups
from tidegate.core.watermark.records import Watermark, WatermarkStatus
from tidegate.engine.exchange import Carrier, Exchange, SinkCarrier
from tidegate.engine.messages import Element, Message, Moved, Order, Results, Target
from tidegate.errors import InvalidTypeError, InvalidValueError, UserCodeError
from tidegate.graph.nodes import Automatic, Broadcast, ByPartitioner, Forward, KeyBy, Partitioning, Rebalance

GROUPS = 128


class Sent:
    """A subtask that sends: keeps what left it, with where it went."""

    def __init__(self) -> None:
        self._number = 0
        self._messages: list[tuple[int, Any]] = []

    def next_order(self) -> Order:
        self._number += 1
        return (self._number, "")

    def send(self, target: Target, message: Message) -> None:
        assert target.stage == 1
        self._messages.append((target.subtask, message))

    def take(self) -> list[tuple[int, Any]]:
        messages, self._messages = self._messages, []
        return messages


def exchange(
    sent: Sent, partitioning: Partitioning, count: int = 3, *, subtask: int = 0, channel: str = "c"
) -> Exchange:
    targets = [Target(1, index) for index in range(count)]
    return Exchange(
        sent, targets, partitioning, 7, channel, subtask=subtask, reader="the reader", max_parallelism=GROUPS
    )


def itself(value: Any) -> Any:
    return value


def places(sent: Sent) -> list[int]:
    return [place for place, _ in sent.take()]


KEYS = st.one_of(
    st.none(), st.integers(), st.text(max_size=5), st.floats(allow_nan=False), st.tuples(st.integers(), st.text())
)


@settings(deadline=None)
@given(KEYS, st.integers(1, 9), st.integers(0, 8), st.text(max_size=3))
def test_a_key_goes_to_the_subtask_of_its_key_group_whoever_sends_it(
    key: Any, count: int, subtask: int, channel: str
) -> None:
    sent = Sent()
    exchange(sent, KeyBy(itself), count, subtask=subtask, channel=channel).process_element(key, 3)
    (place, element) = sent.take()[0]
    assert place == KeyGroups(GROUPS, count).subtask_of(key)
    assert element == Element((1, ""), 7, channel, key, key, 3)


@settings(deadline=None)
@given(st.lists(st.none() | st.text(max_size=5), min_size=1), st.integers(1, 9))
def test_single_keys_and_columns_of_keys_go_to_the_same_subtasks(keys: list[str | None], count: int) -> None:
    sent = Sent()
    by_key = exchange(sent, KeyBy(itself), count)
    for key in keys:
        by_key.process_element(key, None)
    column = pa.table({"key": pa.array(keys, pa.string())})
    assert places(sent) == KeyGroups(GROUPS, count).subtasks_of(column, ["key"]).tolist()


@settings(deadline=None)
@given(st.integers(-(2**53), 2**53), st.integers(1, 9))
def test_keys_that_are_equal_go_to_one_subtask(number: int, count: int) -> None:
    sent = Sent()
    by_key = exchange(sent, KeyBy(itself), count)
    for key in (number, float(number), Decimal(number), np.int64(number)):
        by_key.process_element(key, None)
    assert len(set(places(sent))) == 1


def test_keys_reach_all_subtasks_also_where_the_groups_cannot_be_shared_evenly() -> None:
    sent = Sent()
    by_key = exchange(sent, KeyBy(itself), 5)
    for key in range(2_000):
        by_key.process_element(key, None)
    counts = Counter(places(sent))
    assert sorted(counts) == [0, 1, 2, 3, 4]
    assert min(counts.values()) > 200


def test_the_key_travels_with_the_element() -> None:
    sent = Sent()
    exchange(sent, KeyBy(lambda pair: pair[0])).process_element(("ann", 1), None)
    ((_, element),) = sent.take()
    assert (element.key, element.value) == ("ann", ("ann", 1))


@pytest.mark.parametrize("partitioning", [Forward(), Automatic()])
def test_what_stays_goes_to_the_subtask_of_the_same_number(partitioning: Partitioning) -> None:
    sent = Sent()
    stays = exchange(sent, partitioning, subtask=2)
    for value in range(4):
        stays.process_element(value, None)
    assert places(sent) == [2, 2, 2, 2]


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(0, 30), st.text(max_size=3))
def test_elements_go_to_all_subtasks_in_turn(count: int, elements: int, channel: str) -> None:
    sent = Sent()
    in_turn = exchange(sent, Rebalance(), count, channel=channel)
    for value in range(elements):
        in_turn.process_element(value, None)
    found = places(sent)
    assert found == [(found[0] + index) % count for index in range(elements)]


@settings(deadline=None)
@given(st.integers(1, 5), st.lists(st.integers(0, 6), min_size=1, max_size=5))
def test_where_a_batch_is_cut_does_not_change_whose_turn_it_is(count: int, batches: list[int]) -> None:
    whole, cut = Sent(), Sent()
    in_turn = exchange(whole, Rebalance(), count)
    turn = exchange(cut, Rebalance(), count).turn
    for size in batches:
        rebuilt = exchange(cut, Rebalance(), count)
        rebuilt.turn = turn
        for value in range(size):
            in_turn.process_element(value, None)
            rebuilt.process_element(value, None)
        turn = rebuilt.turn
    assert places(cut) == places(whole)


def test_channels_do_not_all_begin_with_the_first_subtask() -> None:
    sent = Sent()
    for channel in range(20):
        exchange(sent, Rebalance(), channel=str(channel)).process_element("x", None)
    assert set(places(sent)) == {0, 1, 2}


def test_a_broadcast_element_is_the_same_for_all_subtasks() -> None:
    sent = Sent()
    exchange(sent, Broadcast()).process_element("x", 5)
    assert sent.take() == [(index, Element((1, ""), 7, "c", None, "x", 5)) for index in range(3)]


@pytest.mark.parametrize(
    "partitioning", [Forward(), Rebalance(), Broadcast(), KeyBy(itself), ByPartitioner(lambda key, count: 0, itself)]
)
def test_watermarks_and_statuses_go_to_all_subtasks_however_elements_go(partitioning: Partitioning) -> None:
    sent = Sent()
    some = exchange(sent, partitioning)
    turn = some.turn
    some.process_watermark(Watermark(5))
    some.process_status(WatermarkStatus.IDLE)
    moves = [Moved((1, ""), 7, "c", Watermark(5)), Moved((2, ""), 7, "c", WatermarkStatus.IDLE)]
    assert sent.take() == [(index, move) for move in moves for index in range(3)]
    assert some.turn == turn


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(0, 100))
def test_a_partitioner_is_given_the_key_and_the_number_of_subtasks(count: int, value: int) -> None:
    asked = []

    def partition(key: int, subtasks: int) -> int:
        asked.append((key, subtasks))
        return key % subtasks

    sent = Sent()
    exchange(sent, ByPartitioner(partition, lambda value: value + 1), count).process_element(value, None)
    ((place, element),) = sent.take()
    assert asked == [(value + 1, count)]
    assert place == (value + 1) % count
    assert (element.key, element.value) == (None, value)


@pytest.mark.parametrize("answer", [-1, 3, 99, "1", None, 1.0, True, False, (1,)])
def test_an_answer_that_is_no_index_of_a_subtask_is_refused_and_nothing_is_sent(answer: Any) -> None:
    sent = Sent()
    custom = exchange(sent, ByPartitioner(lambda key, count: answer, itself))
    message = f"the reader: the partitioner gave {answer!r} for 'x'; it must give an index from 0 to 2"
    with pytest.raises(InvalidValueError, match=re.escape(message)):
        custom.process_element("x", None)
    assert sent.take() == []


@pytest.mark.parametrize(
    ("partitioning", "what"),
    [
        (KeyBy(lambda value: value["key"]), "the key selector"),
        (ByPartitioner(lambda key, count: 0, lambda value: value["key"]), "the partitioner"),
        (ByPartitioner(lambda key, count: key["key"], itself), "the partitioner"),
    ],
)
def test_an_error_of_the_user_names_the_reader_the_function_and_the_record(
    partitioning: Partitioning, what: str
) -> None:
    message = f"the reader: {what} raised KeyError: 'key', for the record {{}}"
    with pytest.raises(UserCodeError, match=re.escape(message)) as caught:
        exchange(Sent(), partitioning).process_element({}, None)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_key_without_a_hash_is_an_error_with_the_record() -> None:
    with pytest.raises(UserCodeError, match=r"the reader: the key selector raised .* for the record 'x'"):
        exchange(Sent(), KeyBy(lambda value: (part for part in value))).process_element("x", None)


def test_an_error_of_ours_in_a_selector_keeps_its_type_and_gets_the_name_of_the_reader() -> None:
    def refuse(value: Any) -> Any:
        raise InvalidTypeError("no field 'user'")

    with pytest.raises(InvalidTypeError, match=r"^the reader: no field 'user'$"):
        exchange(Sent(), KeyBy(refuse)).process_element("x", None)


def test_a_carrier_sends_everything_to_one_subtask_in_order() -> None:
    sent = Sent()
    carrier = Carrier(sent, Target(1, 2), 7, "c")
    carrier.process_element("x", 4)
    carrier.process_watermark(Watermark(4))
    carrier.process_status(WatermarkStatus.IDLE)
    assert sent.take() == [
        (2, Element((1, ""), 7, "c", None, "x", 4)),
        (2, Moved((2, ""), 7, "c", Watermark(4))),
        (2, Moved((3, ""), 7, "c", WatermarkStatus.IDLE)),
    ]


def test_a_carrier_to_a_sink_sends_many_results_as_one_message() -> None:
    sent = Sent()
    carrier = SinkCarrier(sent, Target(1, 0), 7, "c")
    table = pa.table({"a": [1, 2]})
    carrier.process_table(table)
    carrier.process_element("x", None)
    (_, results), (_, element) = sent.take()
    assert results == Results((1, ""), 7, "c", table)
    assert element.order == (2, "")
