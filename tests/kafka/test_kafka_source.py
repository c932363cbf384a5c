"""`KafkaSource` with a real broker: its consumer, its offsets, and programs on Spark and in process."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions
from tests.kafka.broker import PATIENCE, Broker

from tidegate import agg
from tidegate.common import SimpleStringSchema, WatermarkStrategy
from tidegate.datastream import CollectSink, OutputTag, StreamExecutionEnvironment
from tidegate.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.errors import FetchError, InvalidValueError, UnsupportedError
from tidegate.ingest.kafka_offsets import OffsetRange
from tidegate.spark.sources.kafka_log import KafkaLog

pytestmark = pytest.mark.spark

MINUTE = 60_000
STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness("10 seconds").with_timestamp_column("ts")
LATEST = KafkaOffsetsInitializer.latest()


def send(broker: Broker, topic: str, partition: int, values: Sequence[Any], times: Sequence[int] | None = None) -> None:
    """Texts and bytes as they are, None as a tombstone, anything else as JSON."""
    # Without idempotence messages that are sent again come behind others.
    producer = Producer({"bootstrap.servers": broker.servers, "enable.idempotence": True})
    for index, value in enumerate(values):
        data = value if value is None or isinstance(value, str | bytes) else json.dumps(value)
        # 0 is the time of the clock.
        producer.produce(topic, value=data, partition=partition, timestamp=0 if times is None else times[index])
    assert producer.flush(PATIENCE) == 0


def orders(first_minute: int, minutes: int) -> list[dict[str, Any]]:
    """Six orders in each minute, of two users."""
    return [
        {"user": f"u{second // 10 % 2}", "ts": minute * MINUTE + second * 1_000, "amount": second, "more": [1]}
        for minute in range(first_minute, first_minute + minutes)
        for second in range(0, 60, 10)
    ]


def totals(sent: list[dict[str, Any]]) -> list[tuple[str, int, int, int]]:
    counts: Counter[tuple[str, int]] = Counter()
    sums: Counter[tuple[str, int]] = Counter()
    for order in sent:
        place = order["user"], order["ts"] // MINUTE
        counts[place] += 1
        sums[place] += order["amount"]
    return sorted((user, minute * MINUTE, counts[user, minute], sums[user, minute]) for user, minute in counts)


def builder(broker: Broker, *topics: str) -> KafkaSourceBuilder:
    return KafkaSource.builder().set_bootstrap_servers(broker.servers).set_topics(*topics).set_group_id("tests")


def of_orders(broker: Broker, topic: str) -> KafkaSourceBuilder:
    return builder(broker, topic).set_json_schema("user string, ts long, amount long")


def text(broker: Broker, topic: str) -> KafkaSourceBuilder:
    return builder(broker, topic).set_value_only_deserializer(SimpleStringSchema())


def environment(spark: Any, runtime: str) -> StreamExecutionEnvironment:
    if runtime == "local":
        return StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=2)
    return StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2)


def windows(env: StreamExecutionEnvironment, source: KafkaSource, late: OutputTag) -> tuple[CollectSink, CollectSink]:
    results, lates = CollectSink(), CollectSink()
    stream = (
        env.from_source(source, STRATEGY, "orders")
        .key_by("user")
        .window(TumblingEventTimeWindows.of("1 minute"))
        .side_output_late_data(late)
        .agg(orders=agg.count(), total=agg.sum("amount"))
    )
    stream.sink_to(results)
    stream.get_side_output(late).sink_to(lates)
    return results, lates


def rows(sink: CollectSink) -> list[tuple[str, int, int, int]]:
    return sorted((row["user"], row["window_start"], row["orders"], row["total"]) for row in sink.results)


@pytest.mark.parametrize("runtime", ["spark", "local"])
def test_windows_over_a_topic_wait_for_the_partition_that_lags(broker: Broker, spark: Any, runtime: str) -> None:
    topic = broker.create_topic("orders", partitions=2)
    ahead, behind = orders(20, 8), orders(0, 8)
    send(broker, topic, 0, ahead)
    send(broker, topic, 1, behind)
    env = environment(spark, runtime)
    source = of_orders(broker, topic).set_bounded(LATEST).set_max_rows_per_batch(30).build()
    results, lates = windows(env, source, OutputTag("late"))
    assert "read as columns" in env.explain() if runtime == "spark" else True
    send(broker, topic, 0, orders(40, 1))
    env.execute("orders")
    # The end is fixed when the job begins, not when the source is made.
    assert rows(results) == totals([*ahead, *behind, *orders(40, 1)])
    assert lates.results == []


def batch_ends(checkpoint: Path) -> list[dict[str, int]]:
    """The offsets at the end of each batch, as Spark has them."""
    files = sorted(
        (path for path in (checkpoint / "query" / "offsets").glob("[0-9]*")), key=lambda path: int(path.name)
    )
    lines = [line for path in files for line in path.read_text().splitlines() if '"offsets"' in line]
    return [json.loads(line)["offsets"] for line in lines]


def test_a_restart_goes_on_at_its_offsets_in_batches_within_the_limit(
    broker: Broker, spark: Any, tmp_path: Path
) -> None:
    topic = broker.create_topic("orders", partitions=2)
    send(broker, topic, 0, orders(0, 1))
    found: list[Any] = []
    for minute in (1, 4):
        for partition in (0, 1):
            send(broker, topic, partition, orders(minute, 3))
        env = StreamExecutionEnvironment.get_execution_environment(
            spark, parallelism=2, checkpoint=str(tmp_path), trigger="availableNow"
        )
        results, lates = windows(env, of_orders(broker, topic).set_max_rows_per_batch(20).build(), OutputTag("late"))
        env.execute("orders")
        assert lates.results == []
        found.append(rows(results))
    sent = [*orders(0, 1), *orders(1, 6), *orders(1, 6)]
    # The watermark is ten seconds behind the last order: the last minute of each run is still open.
    assert found[0] == totals([order for order in sent if order["ts"] < 3 * MINUTE])
    assert found[1] == totals([order for order in sent if 3 * MINUTE <= order["ts"] < 6 * MINUTE])
    ends = [sum(end.values()) for end in batch_ends(tmp_path)]
    sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    assert sum(sizes) == len(sent)
    assert max(sizes) == 20


def test_a_record_that_is_late_goes_to_the_late_output(broker: Broker, spark: Any) -> None:
    topic = broker.create_topic("orders")
    late = {"user": "u0", "ts": 0, "amount": 99}
    # The batches are six records: the late one comes when minute 0 has fired.
    send(broker, topic, 0, [*orders(0, 2), late, *orders(2, 1)])
    env = environment(spark, "spark")
    source = of_orders(broker, topic).set_bounded(LATEST).set_max_rows_per_batch(6).build()
    results, lates = windows(env, source, OutputTag("late"))
    env.execute("orders")
    assert rows(results) == totals(orders(0, 3))
    assert [(row["user"], row["ts"], row["amount"]) for row in lates.results] == [("u0", 0, 99)]


def test_a_partition_that_is_too_far_ahead_is_not_read(broker: Broker, spark: Any, tmp_path: Path) -> None:
    """Six orders a minute; partition 0 is five minutes ahead of partition 1, and may be two."""
    topic = broker.create_topic("orders", partitions=2)
    send(broker, topic, 0, orders(5, 5))
    send(broker, topic, 1, orders(0, 10))
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2, checkpoint=str(tmp_path))
    source = of_orders(broker, topic).set_bounded(LATEST).set_max_rows_per_batch(12).build()
    results = CollectSink()
    (
        env.from_source(source, STRATEGY.with_watermark_alignment("orders", "2 minutes"), "orders")
        .key_by("user")
        .window(TumblingEventTimeWindows.of("1 minute"))
        .agg(orders=agg.count(), total=agg.sum("amount"))
        .sink_to(results)
    )
    env.execute("orders")
    assert rows(results) == totals([*orders(5, 5), *orders(0, 10)])
    ends = [(end[f"{topic}/0"], end[f"{topic}/1"]) for end in batch_ends(tmp_path)]
    assert ends[-1] == (30, 60)
    for (ahead, behind), (reached, _) in pairwise([(0, 0), *ends]):
        if reached > ahead:
            # The next orders are of minutes 5 + ahead / 6 and behind / 6.
            assert 5 * 6 + ahead - behind <= 2 * 6
    assert ends[0] == (0, 12)


def test_alignment_needs_a_limit(broker: Broker, spark: Any) -> None:
    env = environment(spark, "spark")
    source = of_orders(broker, broker.create_topic("orders")).set_bounded(LATEST).build()
    env.from_source(source, STRATEGY.with_watermark_alignment("orders", "2 minutes"), "orders").print()
    with pytest.raises(UnsupportedError, match="use set_max_rows_per_batch"):
        env.execute("orders")


def test_a_value_that_is_no_json_stops_the_job_with_its_place(broker: Broker, spark: Any) -> None:
    topic = broker.create_topic("orders")
    send(broker, topic, 0, [*orders(0, 1), '{"user": "u0", "ts": '])
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2)
    windows(env, of_orders(broker, topic).set_bounded(LATEST).build(), OutputTag("late"))
    with pytest.raises(InvalidValueError, match=rf"topic '{topic}', partition 0, offset 6 is not the JSON"):
        env.execute("orders")


@pytest.mark.parametrize("runtime", ["spark", "local"])
def test_text_has_the_timestamps_of_its_records(broker: Broker, spark: Any, runtime: str) -> None:
    topic = broker.create_topic("words")
    send(broker, topic, 0, ["a", None, "b", "a"], times=[1_000, 2_000, 3_000, MINUTE + 1_000])
    env = environment(spark, runtime)
    sink = CollectSink()
    source = text(broker, topic).set_bounded(LATEST).build()
    (
        env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "words")
        .map(lambda word: (word, 1))
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of("1 minute"))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .sink_to(sink)
    )
    env.execute("words")
    assert sorted(sink.results) == [("a", 1), ("a", 1), ("b", 1)]


def test_the_local_runtime_refuses_topics_without_an_end(broker: Broker) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    source = text(broker, broker.create_topic("words")).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "words").print()
    with pytest.raises(UnsupportedError, match=r"call set_bounded\(.*or use runtime='spark'"):
        env.execute()


def values(source: KafkaSource, part: OffsetRange) -> list[tuple[int, bytes]]:
    with source.client() as client:
        batches = list(source.batches(client, part))
    return [(row["__offset"], row["value"]) for batch in batches for row in batch.to_pylist()]


def test_a_range_ends_at_offsets_that_hold_no_record(broker: Broker) -> None:
    """The end of a transaction takes an offset, and one that was aborted leaves nothing else."""
    topic = broker.create_topic("words")
    send(broker, topic, 0, ["a", None])
    producer = Producer({"bootstrap.servers": broker.servers, "transactional.id": topic})
    producer.init_transactions(PATIENCE)
    for word, is_kept in (("b", True), ("c", False)):
        producer.begin_transaction()
        producer.produce(topic, word, partition=0)
        producer.flush(PATIENCE)
        if is_kept:
            producer.commit_transaction(PATIENCE)
        else:
            producer.abort_transaction(PATIENCE)
    source = text(broker, topic).build()
    place = f"{topic}/0"
    with source.client() as client:
        assert client.latest([place]) == {place: 6}
    assert values(source, OffsetRange(place, 0, 6)) == [(0, b"a"), (2, b"b")]
    assert values(source, OffsetRange(place, 0, 4)) == [(0, b"a"), (2, b"b")]
    assert values(source, OffsetRange(place, 1, 2)) == []
    assert values(source, OffsetRange(place, 4, 6)) == []


def test_the_first_messages_of_partitions_are_found_behind_gaps_and_missed_at_ends(broker: Broker) -> None:
    topic = broker.create_topic("words", partitions=3)
    for partition in (0, 1):
        send(broker, topic, partition, [f"{partition}-{number}" for number in range(100)])
    admin = AdminClient({"bootstrap.servers": broker.servers})
    for done in admin.delete_records([TopicPartition(topic, 1, 10)]).values():
        done.result(PATIENCE)
    source = text(broker, topic).set_fail_on_data_loss(False).build()
    with source.client(is_looking=True) as client:
        for first in (50, 0):
            found = client.first_messages({f"{topic}/0": first, f"{topic}/1": 5, f"{topic}/2": 0})
            values = {name: message.value() for name, message in found.items()}
            assert values == {f"{topic}/0": f"0-{first}".encode(), f"{topic}/1": b"1-10"}


def test_a_range_ends_before_what_follows_it(broker: Broker) -> None:
    topic = broker.create_topic("words")
    send(broker, topic, 0, [str(number) for number in range(25_000)])
    found = values(text(broker, topic).build(), OffsetRange(f"{topic}/0", 100, 20_103))
    assert found == [(number, str(number).encode()) for number in range(100, 20_103)]


def log_of(path: Path, source: KafkaSource) -> KafkaLog:
    return KafkaLog(path / "log.json", source, source.client())


def test_where_reading_begins_and_ends_is_kept(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic("words", partitions=2)
    p0, p1 = f"{topic}/0", f"{topic}/1"
    send(broker, topic, 0, ["a", "b", "c"], times=[1_000, 2_000, 3_000])
    rules = {
        "earliest": KafkaOffsetsInitializer.earliest(),
        "latest": LATEST,
        "timestamp": KafkaOffsetsInitializer.timestamp(1_500),
        "offsets": KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic, 0): 2}),
        "committed": KafkaOffsetsInitializer.committed_offsets(),
    }
    for name, first in (("earliest", 0), ("latest", 3), ("timestamp", 1), ("offsets", 2)):
        log = log_of(tmp_path / name, text(broker, topic).set_starting_offsets(rules[name]).build())
        assert log.positions({}, log.end()) == {p0: first, p1: 0}
    with pytest.raises(FetchError, match=r"no committed offset for .*KafkaOffsetResetStrategy\.EARLIEST"):
        log_of(tmp_path / "committed", text(broker, topic).set_starting_offsets(rules["committed"]).build()).end()
    bounded = text(broker, topic).set_starting_offsets(LATEST).set_bounded(LATEST).build()
    assert log_of(tmp_path / "bounded", bounded).end() == {p0: 3, p1: 0}
    send(broker, topic, 0, ["d"])
    again = log_of(tmp_path / "bounded", bounded)
    assert again.end() == {p0: 3, p1: 0}
    latest = log_of(tmp_path / "latest", text(broker, topic).set_starting_offsets(LATEST).build())
    assert latest.end() == {p0: 4, p1: 0}
    assert latest.positions({}, latest.end()) == {p0: 3, p1: 0}
    assert latest.positions({p0: 4}, latest.end()) == {p0: 4, p1: 0}


def test_new_partitions_are_found_and_read_from_their_beginning(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic("words")
    source = text(broker, topic).set_starting_offsets(LATEST).set_property("partition.discovery.interval.ms", "0")
    log = log_of(tmp_path, source.build())
    assert log.end() == {f"{topic}/0": 0}
    admin = AdminClient({"bootstrap.servers": broker.servers})
    admin.create_partitions([NewPartitions(topic, 2)])[topic].result(PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while len(log.end()) == 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    send(broker, topic, 1, ["a"])
    end = log.end()
    assert end == {f"{topic}/0": 0, f"{topic}/1": 1}
    assert log.positions({f"{topic}/0": 0}, end) == {f"{topic}/0": 0, f"{topic}/1": 0}


def test_records_that_kafka_has_deleted_stop_the_job_unless_that_is_accepted(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic("words")
    place = f"{topic}/0"
    send(broker, topic, 0, ["a", "b", "c"])
    source = text(broker, topic).build()
    log = log_of(tmp_path, source)
    end = log.end()
    log.check({place: 0}, end)
    admin = AdminClient({"bootstrap.servers": broker.servers})
    for done in admin.delete_records([TopicPartition(topic, 0, 2)]).values():
        done.result(PATIENCE)
    with pytest.raises(FetchError, match=rf"{place} has lost the records from offset 0 on: .* offset 2\."):
        log.check({place: 0}, end)
    with pytest.raises(FetchError, match=rf"{place} has lost the records from offset 0 on"):
        values(source, OffsetRange(place, 0, 3))
    lenient = text(broker, topic).set_fail_on_data_loss(False).build()
    log_of(tmp_path, lenient).check({place: 0}, end)
    assert values(lenient, OffsetRange(place, 0, 3)) == [(2, b"c")]
    assert values(lenient, OffsetRange(place, 0, 1)) == []


def test_a_topic_that_is_not_there_is_told_by_its_name(broker: Broker) -> None:
    with pytest.raises(FetchError, match=rf"topic 'nowhere' on {broker.servers}: .*[Uu]nknown topic"):
        text(broker, "nowhere").build().expected_channels()
