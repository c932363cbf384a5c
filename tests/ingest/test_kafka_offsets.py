"""How far a batch of Kafka's goes and who reads what; no broker."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import FetchError, InvalidValueError
from tidegate.ingest.kafka_offsets import (
    OffsetRange,
    check_nothing_lost,
    next_offsets,
    ranges_between,
    shared_out,
)
from tidegate.ingest.kafka_topics import json_columns

WAITING = st.dictionaries(st.sampled_from([f"t/{n}" for n in range(6)]), st.integers(0, 1_000), min_size=1)


def test_without_a_limit_a_batch_reads_everything() -> None:
    assert next_offsets({"t/0": 3, "t/1": 7}, {"t/0": 9, "t/1": 7}, None) == {"t/0": 9, "t/1": 7}


def test_each_partition_is_read_in_proportion_to_what_waits_there() -> None:
    until = {"t/0": 3_000, "t/1": 1_000, "t/2": 0}
    assert next_offsets(dict.fromkeys(until, 0), until, 400) == {"t/0": 300, "t/1": 100, "t/2": 0}


def test_with_fewer_offsets_than_partitions_those_with_most_come_first() -> None:
    until = {"t/0": 5, "t/1": 9, "t/2": 7}
    assert next_offsets(dict.fromkeys(until, 0), until, 2) == {"t/0": 0, "t/1": 1, "t/2": 1}


@given(WAITING, st.integers(1, 2_000))
def test_batches_obey_the_limit_and_read_everything_in_the_end(waiting: dict[str, int], limit: int) -> None:
    start = dict.fromkeys(waiting, 100)
    until = {name: 100 + count for name, count in waiting.items()}
    left = sum(waiting.values())
    while start != until:
        end = next_offsets(start, until, limit)
        assert all(start[name] <= end[name] <= until[name] for name in until)
        read = sum(end.values()) - sum(start.values())
        assert read == min(limit, left)
        ready = [name for name in until if until[name] > start[name]]
        if limit >= len(ready):
            assert all(end[name] > start[name] for name in ready)
        start, left = end, left - read


@given(WAITING, st.integers(1, 5), st.integers(1, 300))
def test_shares_hold_every_offset_once_and_are_about_equal(waiting: dict[str, int], tasks: int, least: int) -> None:
    ranges = ranges_between(dict.fromkeys(waiting, 0), waiting)
    shares = shared_out(ranges, tasks, least)
    whole = [(part.partition, offset) for part in ranges for offset in range(part.first, part.until)]
    cut = [(part.partition, n) for share in shares for part in share for n in range(part.first, part.until)]
    assert cut == whole
    sizes = [sum(map(len, share)) for share in shares]
    assert len(sizes) <= tasks
    if len(sizes) > 1:
        assert min(sizes) >= least - 1
        assert max(sizes) - min(sizes) <= 1


def test_a_large_partition_is_read_by_several_tasks() -> None:
    shares = shared_out([OffsetRange("t/0", 10, 40)], 3, 5)
    assert shares == [[OffsetRange("t/0", first, first + 10)] for first in (10, 20, 30)]


def test_records_that_retention_has_deleted_are_missed() -> None:
    with pytest.raises(
        FetchError, match=r"t/1 has lost .* offset 5 on: .* offset 8\. .*set_fail_on_data_loss\(False\)"
    ):
        check_nothing_lost({"t/0": 5, "t/1": 5}, {"t/0": 5, "t/1": 8}, {"t/0": 9, "t/1": 9})


def test_a_topic_that_was_made_anew_is_found_out() -> None:
    with pytest.raises(
        FetchError, match=r"t/0 has lost .* it ends at offset 2; the topic seems to have been made anew"
    ):
        check_nothing_lost({"t/0": 5}, {"t/0": 0}, {"t/0": 2})


SCHEMA = pa.schema([("n", pa.int64())])


def test_objects_may_have_other_fields_lines_and_blanks() -> None:
    values = [b'{"n": 1}', b' {"n":\n2, "m": "x"} ', b"{}"]
    assert json_columns(values, [1, 2, 5], SCHEMA, "t/0").column("n").to_pylist() == [1, 2, None]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"nonsense", "it is no object"),
        (b"", "it is no object"),
        (b"null", "it is no object"),
        (b'{"n": 1} {"n": 2}', "it holds several objects"),
        (b'{"n": ', "JSON parse error"),
        (b'{"n": "x"}', "JSON parse error"),
    ],
)
def test_a_value_that_is_no_such_object_is_named_by_its_place(value: bytes, why: str) -> None:
    values = [b'{"n": 1}', value, b'{"n": 3}']
    with pytest.raises(InvalidValueError, match=rf"topic 'a', partition 4, offset 12 is not the JSON .*{why}"):
        json_columns(values, [7, 12, 13], SCHEMA, "a/4")
