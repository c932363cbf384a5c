"""The job on Quix Streams, which reads from Kafka only: a broker on loopback, loaded before the clock starts.

Its windows belong to the key of a message, so the topic is keyed by user from the start, and no order has to move to
another partition. That makes the job easier than it is for the other engines, which group by user themselves.

Time goes on by partition or by key, as the program chooses. Windows of a fixed size close by partition: it is the
faster way, and one closing order in each partition closes them all. For sessions it looks at every key whenever one of
them ends, and with 200,000 users that comes to a standstill. Sessions therefore close by key, and each user gets a
closing order of its own. Those come after the clock has stopped, since other engines have none.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import threading
import time
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any
from zlib import crc32

from confluent_kafka import Producer
from quixstreams import Application
from quixstreams.dataframe.windows import Count, Max, Sum
from quixstreams.sinks import BatchingSink, SinkBatch

sys.path.insert(0, str(Path(__file__).parents[3]))

PARTITIONS = 2
"""As many processes: one of them uses one core."""
CLOSING_USER = "u-1"
COMMIT_SECONDS = 10.0
PATIENCE = 60.0
BROKER = """
# Both processes join before partitions are given out, so that none moves later.
group.initial.rebalance.delay.ms=5000
"""
LOADING = {
    "linger.ms": 50,
    "batch.size": 1_000_000,
    "queue.buffering.max.messages": 500_000,
    "queue.buffering.max.kbytes": 500_000,
    "acks": 1,
}
READING = {"queued.min.messages": 100_000, "fetch.max.bytes": 50_000_000, "max.partition.fetch.bytes": 10_000_000}

Job = dict[str, Any]


class Loader:
    """Sends orders to the topic and counts what each partition got: `timed` of them until the clock stops."""

    def __init__(self, servers: str, topic: str) -> None:
        self._producer = Producer({"bootstrap.servers": servers, **LOADING})
        self._topic = topic
        self._failures: list[Any] = []
        self.counts = [0] * PARTITIONS
        self.timed = self.counts

    def load(self, folder: Path, *, is_by_key: bool) -> None:
        """The files of all partitions line by line in turn, then a closing order for each user if time is by key."""
        users: set[str] = set()
        closing: list[str] = []
        files = [path.open(encoding="utf-8") for path in sorted(folder.iterdir())]
        for line in chain.from_iterable(zip_longest(*files)):
            if line is None:
                continue
            partition, _, user, ts, amount = line.rstrip().split(",")
            if user == CLOSING_USER:
                closing.append(ts)
                self._send(int(partition), user, ts, amount)
            else:
                users.add(user)
                self._send(crc32(user.encode()) % PARTITIONS, user, ts, amount)
        self.timed = self.counts.copy()
        if is_by_key:
            for user in users:
                self._send(crc32(user.encode()) % PARTITIONS, user, max(closing), "0")
        for file in files:
            file.close()
        if self._producer.flush(PATIENCE) or self._failures:
            sys.exit(f"the topic could not be loaded: {self._failures[:3]}")

    def _send(self, partition: int, user: str, ts: str, amount: str) -> None:
        value = f'{{"ts":{ts},"amount":{amount}}}'
        while True:
            try:
                self._producer.produce(self._topic, value, user, partition, on_delivery=self._on_delivery)
            except BufferError:
                self._producer.poll(1)
            else:
                break
        self.counts[partition] += 1
        if self.counts[partition] % 10_000 == 0:
            self._producer.poll(0)

    def _on_delivery(self, error: Any, _: Any) -> None:
        if error is not None:
            self._failures.append(error)


class Results(BatchingSink):
    """Writes a file with the windows of one process, and remembers when it last did."""

    def __init__(self, path: Path, gap: int) -> None:
        super().__init__()
        self._out = path.open("w", encoding="utf-8")
        self._gap = gap
        self.written = 0.0

    def write(self, batch: SinkBatch) -> None:
        gap = self._gap
        for item in batch:
            window = item.value
            # A session ends a millisecond after its last order here.
            end = window["end"] - 1 + gap if gap else window["end"]
            figures = f"{window['orders']},{window['total']},{window['biggest']}"
            self._out.write(f"{item.key.decode()},{window['start']},{end},{figures}\n")
        self._out.flush()
        self.written = time.monotonic()


class Clock:
    """Takes the timestamp out of an order, and remembers when it was first asked to."""

    def __init__(self) -> None:
        self.started = 0.0

    def __call__(self, value: Any, headers: Any, timestamp: float, timestamp_type: Any) -> int:
        if not self.started:
            self.started = time.monotonic()
        return int(value["ts"])


@dataclass(frozen=True, slots=True)
class Work:
    """What both processes are told. `timed` orders of a partition come before the clock stops, `counts` in all."""

    job: Job
    servers: str
    topic: str
    timed: list[int]
    counts: list[int]
    is_by_key: bool


def windows(orders: Any, work: Work) -> Any:
    size, slide, gap = (work.job["window"][name] for name in ("size", "slide", "gap"))
    grace = work.job["out_of_orderness"]
    if gap:
        window = orders.session_window(gap, grace)
    elif size == slide:
        window = orders.tumbling_window(size, grace)
    else:
        window = orders.hopping_window(size, slide, grace)
    figures = window.agg(orders=Count(), total=Sum(column="amount"), biggest=Max(column="amount"))
    return figures.final("key" if work.is_by_key else "partition")


def run(work: Work, number: int, told: Any) -> None:
    """One process of the consumer group: its partition to the end, then the times of its first and last step."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    output = Path(work.job["output"])
    seen: list[int] = []
    stopped = 0.0

    def on_message_processed(_: str, partition: int, offset: int) -> None:
        nonlocal stopped
        if offset + 1 == work.timed[partition]:
            stopped = time.monotonic()
        if offset + 1 == work.counts[partition]:
            seen.append(partition)
            app.stop()

    app = Application(
        work.servers,
        consumer_group="orders",
        auto_offset_reset="earliest",
        commit_interval=COMMIT_SECONDS,
        consumer_extra_config=READING,
        state_dir=output.parent / "state",
        use_changelog_topics=False,
        on_message_processed=on_message_processed,
        loglevel="WARNING",
    )
    clock = Clock()
    source = app.topic(work.topic, timestamp_extractor=clock)
    results = Results(output / f"process-{number}.csv", work.job["window"]["gap"])
    windows(app.dataframe(source), work).sink(results)
    app.run()
    told.put((clock.started, stopped if work.is_by_key else results.written, seen))


def end_with_parent() -> None:
    """Whoever gives the job up ends the first process only."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def measure(work: Work) -> float:
    # Not a fork: the threads of a Kafka client do not survive one.
    context = multiprocessing.get_context("spawn")
    told: Any = context.Queue()
    workers = [context.Process(target=run, args=(work, number, told)) for number in range(PARTITIONS)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        time.sleep(0.1)
        if any(worker.exitcode for worker in workers):
            for worker in workers:
                worker.terminate()
            sys.exit("a process failed")
    times = [told.get(timeout=PATIENCE) for _ in workers]
    finished = [seen for _, _, seen in times]
    if sorted(finished) != [[number] for number in range(PARTITIONS)]:
        sys.exit(f"each process should read one partition; they read {finished}")
    return max(end for _, end, _ in times) - min(start for start, _, _ in times)


def main() -> None:
    # Imported here, for the processes of the group do without.
    from tests.kafka.broker import Broker, fetch_jars

    job = json.loads(sys.argv[1])
    is_by_key = bool(job["window"]["gap"])
    output = Path(job["output"])
    output.mkdir(parents=True, exist_ok=True)
    folder = output.parent / "broker"
    folder.mkdir()
    broker = Broker(folder, fetch_jars())
    with (folder / "server.properties").open("a", encoding="utf-8") as properties:
        properties.write(BROKER)
    with broker:
        topic = broker.create_topic("orders", PARTITIONS)
        loader = Loader(broker.servers, topic)
        loader.load(Path(job["input"]), is_by_key=is_by_key)
        seconds = measure(Work(job, broker.servers, topic, loader.timed, loader.counts, is_by_key))
    print(json.dumps({"seconds": seconds, "version": version("quixstreams"), "settings": {}}))


if __name__ == "__main__":
    main()
