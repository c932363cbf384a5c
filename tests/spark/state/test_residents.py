"""Subtasks in several workers that come and go: the store decides what counts. No JVM, workers are objects here."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import cloudpickle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties.cases import Feed, Mark, Program, Script, Step
from tests.properties.local_run import Tape
from tests.properties.programs import build, programs, programs_with_scripts

from tidegate.core.state.blobs import MemoryBlobs
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.functions import KeyedProcessFunction, RuntimeContext
from tidegate.datastream.state import ValueStateDescriptor
from tidegate.engine.channels import subtask_of_channel
from tidegate.engine.lowering import PlanOptions, lower
from tidegate.engine.messages import Closing, Element, Ended, Message, Moved, Report, Target
from tidegate.engine.plan import PhysicalPlan
from tidegate.engine.runner import InProcessRunner
from tidegate.engine.sinks import Sinks
from tidegate.errors import UserCodeError
from tidegate.spark.state.residents import Residents, RunOfJob
from tidegate.spark.state.saved_subtask import SUBTASK, decode_subtask
from tidegate.testing import ManualClock, ManualSource, Watermark, WatermarkStatus

Batch = dict[Target, list[Message]]
WORKERS = 3


class StoreError(Exception):
    pass


class BreakingBlobs(MemoryBlobs):
    """A store that fails with the n-th blob that is written."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self._writes = writes

    def put(self, name: str, data: bytes) -> None:
        if self._writes == 0:
            raise StoreError(name)
        self._writes -= 1
        super().put(name, data)


class Lost(NamedTuple):
    """A try that does not count: its task failed in the n-th write to the store, or behind it if that is None."""

    worker: int
    writes: int | None


class Fate(NamedTuple):
    """What happens to one subtask in one batch: the tries that fail, and the worker of the one that counts."""

    lost: tuple[Lost, ...]
    worker: int


class Cluster:
    """Runs the stages of a plan in several workers. A batch begins with what the last that counts has stored."""

    def __init__(self, plan: PhysicalPlan) -> None:
        self.plan = plan
        self._bytes = cloudpickle.dumps(plan.for_workers())
        self.run = RunOfJob("job", "run 1", self._bytes)
        self.workers = [Residents() for _ in range(WORKERS)]
        self.blobs: dict[Target, Any] = defaultdict(dict)
        self.sinks = Sinks(plan, lambda: 0)
        self.sinks.open()

    def restart(self, run_id: str) -> None:
        """The job goes on as another run, in the same workers."""
        self.run = RunOfJob(self.run.job_id, run_id, self._bytes)

    def batch(self, messages: Batch, fate: Callable[[], Fate], now: int = 0) -> None:
        inbox: Batch = defaultdict(list)
        for target, received in messages.items():
            inbox[target] += received
        for place in itertools.product(range(self.plan.num_stages), range(self.plan.parallelism)):
            target = Target(*place)
            received = inbox.pop(target, [])
            if received:
                for receiver, sent in self.subtask(target, received, fate(), now).items():
                    inbox[receiver] += sent
        arrived = [(target, message) for target, received in inbox.items() for message in received]
        self.sinks.process([(target, message) for target, message in arrived if not isinstance(message, Report)])

    def subtask(self, target: Target, messages: list[Message], fate: Fate, now: int = 0) -> Any:
        """One subtask in one batch: what the try that counts sends."""
        for worker, writes in fate.lost:
            try:
                self.attempt(worker, target, MemoryBlobs() if writes is None else BreakingBlobs(writes), messages, now)
            except StoreError:
                assert writes is not None
        blobs = MemoryBlobs()
        sent = self.attempt(fate.worker, target, blobs, messages, now)
        self.blobs[target] = blobs.snapshot()
        return sent

    def attempt(self, worker: int, target: Target, blobs: MemoryBlobs, messages: list[Message], now: int = 0) -> Any:
        """One try; nothing that it stores counts yet."""
        blobs.restore(self.blobs[target])
        return self.workers[worker].run_batch(self.run, target.stage, target.subtask, blobs, list(messages), now)


def on(worker: int) -> Callable[[], Fate]:
    return lambda: Fate((), worker)


# Random programs


class Built(NamedTuple):
    plan: PhysicalPlan
    tapes: list[Tape]

    def take(self) -> list[Any]:
        return [tape.take() for tape in self.tapes]


def built(program: Program) -> Built:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=program.parallelism)
    made = build(program, env.add_source(ManualSource(program.channels), "input").uid("in"))
    tapes = []
    for stream in (made.results, *made.late.values()):
        tapes.append(Tape())
        stream.sink_to(tapes[-1])
    return Built(lower(env._graph(), PlanOptions(0, reads_columns=False)), tapes)


def batches_of(plan: PhysicalPlan, script: Script, sizes: Sequence[int]) -> Iterator[Batch]:
    """The steps of a script as messages, so many in each batch."""
    (source,) = plan.sources
    numbered = iter(enumerate(script, start=1))
    for size in itertools.cycle(sizes):
        batch: Batch = defaultdict(list)
        for number, step in itertools.islice(numbered, size):
            target = Target(0, subtask_of_channel(source, str(step.channel)))
            batch[target].append(message_of(step, number))
        if not batch:
            return
        yield batch


def message_of(step: Step, number: int) -> Message:
    order, channel = (number, ""), str(step.channel)
    if isinstance(step, Feed):
        return Element(order, "in", channel, None, step.element, step.timestamp)
    if isinstance(step, Mark):
        return Moved(order, "in", channel, Watermark(step.timestamp))
    return Moved(order, "in", channel, WatermarkStatus.IDLE if step.is_idle else WatermarkStatus.ACTIVE)


a_worker = st.integers(0, WORKERS - 1)
a_loss = st.builds(Lost, a_worker, st.none() | st.integers(0, 4))
fates = st.builds(Fate, st.lists(a_loss, max_size=2).map(tuple), a_worker)


@settings(max_examples=60, deadline=None)
@given(
    programs_with_scripts(programs(max_parallelism=2)),
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.lists(fates, min_size=1, max_size=12),
    st.sets(st.integers(0, 20), max_size=2),
)
def test_workers_that_change_and_fail_give_what_the_in_process_runner_gives(
    case: tuple[Program, Script], sizes: list[int], drawn: list[Fate], restarts: set[int]
) -> None:
    program, script = case
    alone, spread = built(program), built(program)
    runner = InProcessRunner(alone.plan, ManualClock())
    runner.sinks.open()
    cluster = Cluster(spread.plan)
    fate = itertools.cycle(drawn)
    for number, batch in enumerate(batches_of(alone.plan, script, sizes)):
        if number in restarts:
            cluster.restart(f"run at {number}")
        runner.run_batch(batch)
        cluster.batch(batch, lambda: next(fate))
        assert spread.take() == alone.take()


# Lives of functions

STAGE = Target(1, 0)
"""The task of the program below."""


class Diary:
    """What happened to functions, in this process, where all workers are."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self.attempt = 0

    def write(self, what: str) -> None:
        self._lines.append(what)

    def take(self) -> list[str]:
        """What happened since the last time."""
        lines, self._lines = self._lines, []
        return lines


DIARY = Diary()


@pytest.fixture(autouse=True)
def _new_diary() -> None:
    DIARY.take()
    DIARY.attempt = 0


class Remembers(KeyedProcessFunction):
    """Gives the number of elements so far, from state, and the attempts that this object has seen."""

    def __init__(self) -> None:
        self._attempts: list[int] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        DIARY.write("open")
        self._count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if value == "fail":
            raise ValueError("told to")
        self._attempts.append(DIARY.attempt)
        self._count.update((self._count.value() or 0) + 1)
        yield self._count.value(), tuple(self._attempts)

    def close(self) -> None:
        DIARY.write("close")


def remembering() -> Cluster:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=1)
    stream = env.add_source(ManualSource(1), "input").uid("in")
    stream.key_by(lambda value: 0).process(Remembers()).name("remembers").uid("task").sink_to(CollectSink())
    return Cluster(lower(env._graph(), PlanOptions(0, reads_columns=False)))


def element(cluster: Cluster, value: str = "x") -> Element:
    (edge,) = [edge for edge in cluster.plan.edges if cluster.plan.target(edge).uid == "task"]
    return Element((1, "", 1), edge.number, "in/0", 0, value, None)


def results(sent: Any) -> list[Any]:
    return [message.value for messages in sent.values() for message in messages if isinstance(message, Element)]


def feed(cluster: Cluster, worker: int) -> list[Any]:
    return results(cluster.subtask(STAGE, [element(cluster)], Fate((), worker)))


def test_functions_are_opened_once_in_each_worker_while_nothing_fails() -> None:
    cluster = remembering()
    counts = [number for worker in (0, 0, 1, 0, 1, 1, 0) for number, _ in feed(cluster, worker)]
    assert counts == [1, 2, 3, 4, 5, 6, 7]
    assert DIARY.take() == ["open", "open"]


@settings(deadline=None)
@given(st.lists(a_worker, min_size=1, max_size=12))
def test_no_worker_opens_functions_twice_whatever_the_way_of_a_subtask(way: list[int]) -> None:
    cluster = remembering()
    DIARY.take()
    counts = [number for worker in way for number, _ in feed(cluster, worker)]
    assert counts == list(range(1, len(way) + 1))
    assert DIARY.take() == ["open"] * len(set(way))


def test_a_resident_that_saved_last_goes_on_from_memory() -> None:
    cluster = remembering()
    feed(cluster, 0)
    (resident,) = cluster.workers[0]._residents.values()
    subtask = resident._subtask
    feed(cluster, 0)
    assert resident._subtask is subtask
    feed(cluster, 1)
    feed(cluster, 0)
    assert resident._subtask is not subtask


def attempts_seen(cluster: Cluster, fates: Iterable[Fate]) -> Iterator[tuple[tuple[int, ...], set[int]]]:
    """For each batch: the attempts that the function of its last try has seen, and all that count by then."""
    counting: set[int] = set()
    for fate in fates:
        for worker, writes in fate.lost:
            DIARY.attempt += 1
            blobs = MemoryBlobs() if writes is None else BreakingBlobs(writes)
            try:
                cluster.attempt(worker, STAGE, blobs, [element(cluster)])
            except StoreError:
                continue
        DIARY.attempt += 1
        counting.add(DIARY.attempt)
        ((number, seen),) = feed(cluster, fate.worker)
        assert number == len(counting)
        yield seen, counting


@settings(max_examples=120, deadline=None)
@given(st.lists(fates, min_size=1, max_size=8))
def test_functions_that_have_seen_a_try_that_does_not_count_are_not_used_again(drawn: list[Fate]) -> None:
    for seen, counting in attempts_seen(remembering(), drawn):
        assert set(seen) <= counting


def test_functions_of_a_try_that_does_not_count_are_not_used_again_long_after_it() -> None:
    fates = [Fate((), 0), Fate((Lost(0, None),), 1), Fate((), 1), Fate((), 0)]
    *_, (seen, _) = attempts_seen(remembering(), fates)
    assert seen == (5,)


def test_functions_that_were_closed_by_a_try_that_does_not_count_are_not_used_again() -> None:
    cluster = remembering()
    feed(cluster, 0)
    cluster.attempt(0, STAGE, MemoryBlobs(), [element(cluster), Closing(cluster.run.run_id)])
    DIARY.attempt = 2
    assert feed(cluster, 0) == [(2, (2,))]
    assert DIARY.take() == ["open", "close", "open"]


def test_a_function_that_raises_is_thrown_away_and_the_state_is_what_it_was() -> None:
    cluster = remembering()
    feed(cluster, 0)
    with pytest.raises(UserCodeError, match=r"remembers: .*told to"):
        cluster.attempt(0, STAGE, MemoryBlobs(), [element(cluster), element(cluster, "fail")])
    DIARY.attempt = 7
    assert feed(cluster, 0) == [(2, (7,))]
    assert DIARY.take() == ["open", "open"]


def test_a_batch_that_closes_is_the_last_of_its_functions() -> None:
    cluster = remembering()
    feed(cluster, 0)
    assert DIARY.take() == ["open"]
    sent = cluster.subtask(STAGE, [element(cluster), Closing(cluster.run.run_id)], Fate((), 0))
    assert [number for number, _ in results(sent)] == [2]
    assert DIARY.take() == ["close"]


def test_closing_a_worker_that_was_left_closes_only_where_the_subtask_is() -> None:
    cluster = remembering()
    feed(cluster, 0)
    feed(cluster, 1)
    cluster.subtask(STAGE, [Closing(cluster.run.run_id)], Fate((), 1))
    assert DIARY.take() == ["open", "open", "close"]


def test_the_end_of_another_run_closes_nothing() -> None:
    cluster = remembering()
    cluster.subtask(STAGE, [element(cluster), Closing("a run before")], Fate((), 0))
    feed(cluster, 0)
    assert DIARY.take() == ["open"]


def test_another_run_of_the_job_closes_what_the_one_before_has_left_and_goes_on_with_its_state() -> None:
    cluster = remembering()
    feed(cluster, 0)
    cluster.restart("run 2")
    DIARY.attempt = 9
    assert feed(cluster, 0) == [(2, (9,))]
    assert DIARY.take() == ["open", "close", "open"]


def test_jobs_in_one_worker_do_not_meet() -> None:
    one, other = remembering(), remembering()
    other.workers = one.workers
    other.run = RunOfJob("other job", "run 1", other.run.plan)
    assert [number for cluster in (one, other, one, other) for number, _ in feed(cluster, 0)] == [1, 1, 2, 2]
    assert DIARY.take() == ["open", "open"]


def test_residents_that_nobody_needed_for_long_are_closed_when_another_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = remembering(), remembering()
    other.workers = one.workers
    other.run = RunOfJob("other job", "run 1", other.run.plan)
    now = 0.0
    monkeypatch.setattr("tidegate.spark.state.residents.time.monotonic", lambda: now)
    feed(one, 0)
    now = 300.0
    feed(one, 0)
    now = 899.0
    feed(other, 0)
    assert DIARY.take() == ["open", "open"]
    now = 901.0
    other.restart("run 2")
    feed(other, 0)
    assert DIARY.take() == ["close", "close", "open"]


def test_a_stored_subtask_says_which_run_saved_it_and_in_which_formats() -> None:
    cluster = remembering()
    feed(cluster, 0)
    stored = decode_subtask(cluster.blobs[STAGE][SUBTASK])
    assert stored.run == "run 1"
    assert list(stored.formats) == ["task"]
    assert list(stored.stores) == ["task"]


def test_the_end_of_input_reaches_every_stage_and_functions_stay_open_until_the_run_ends() -> None:
    cluster = remembering()
    cluster.batch({Target(0, 0): [Element((1, ""), "in", "0", None, "x", None)]}, on(0))
    cluster.batch({Target(0, 0): [Ended()]}, on(1))
    assert DIARY.take() == ["open", "open"]
