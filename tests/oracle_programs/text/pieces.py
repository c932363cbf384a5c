"""What random programs are put together from: PyFlink's names only, for both engines the same text.

An element is (key, id, number). A result starts with its key, and says nothing that Flink leaves open: ids are sorted,
because the order of a merged session is nobody's promise.
"""

# ruff: noqa: F401
import asyncio
import json

from explicit_watermarks import stream_of
from pyflink.common import Time, Types
from pyflink.datastream import AsyncDataStream, AsyncFunction, OutputTag, TimeDomain
from pyflink.datastream.functions import (
    AggregateFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from pyflink.datastream.window import (
    CountTrigger,
    EventTimeTrigger,
    SessionWindowTimeGapExtractor,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    TriggerResult,
    WindowAssigner,
)

LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())
ODD = OutputTag("odd", Types.PICKLED_BYTE_ARRAY())
SIDE = OutputTag("side", Types.PICKLED_BYTE_ARRAY())


def ms(number):
    return Time.milliseconds(number)


def by_key(element):
    return element[0]


def span(window):
    return [window.start, window.end] if isinstance(window, TimeWindow) else []


# What stands before windows


def shift(element):
    return element[0], element[1], element[2] + 1


def is_wanted(element):
    return element[2] != 3


class Double(FlatMapFunction):
    def flat_map(self, value):
        yield value
        if value[2] == 5:
            yield value[0], value[1] + 1000, value[2]


class SplitOdd(ProcessFunction):
    """Odd ids leave by the side, with what the function sees of time."""

    def process_element(self, value, ctx):
        if value[1] % 2:
            yield ODD, (value[0], value[1], ctx.timestamp(), ctx.timer_service().current_watermark())
        if value[1] % 5:
            yield value


# What windows do with their elements


class Names(ProcessWindowFunction):
    def process(self, key, context, elements):
        ids = sorted(element[1] for element in elements)
        yield key, span(context.window()), ids, context.current_watermark()


class FullOnly(ProcessWindowFunction):
    """Nothing of a window that is not full."""

    def __init__(self, size):
        self.size = size

    def process(self, key, context, elements):
        ids = [element[1] for element in elements]
        if len(ids) == self.size:
            yield key, ids


class BigOnesAside(ProcessWindowFunction):
    def process(self, key, context, elements):
        total = 0
        for element in elements:
            total += element[2]
            if element[2] > 6:
                yield SIDE, (key, element[1])
        yield key, span(context.window()), total


class Firings(ProcessWindowFunction):
    """How often this window fired, and how often any window of the key; what a cleared window leaves behind."""

    def process(self, key, context, elements):
        here = context.window_state().get_state(ValueStateDescriptor("here", Types.LONG()))
        anywhere = context.global_state().get_state(ValueStateDescriptor("anywhere", Types.LONG()))
        here.update((here.value() or 0) + 1)
        anywhere.update((anywhere.value() or 0) + 1)
        ids = sorted(element[1] for element in elements)
        yield key, span(context.window()), ids, here.value(), anywhere.value()

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("here", Types.LONG())).clear()


class Applied(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, span(window), sum(element[2] for element in inputs)


class AllNames(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield "all", span(context.window()), sorted(element[1] for element in elements)


class Sum(ReduceFunction):
    def reduce(self, value1, value2):
        return value1[0], max(value1[1], value2[1]), value1[2] + value2[2]


class Reduced(ProcessWindowFunction):
    def process(self, key, context, elements):
        for element in elements:
            yield key, span(context.window()), element[1], element[2], context.current_watermark()


class Collect(AggregateFunction):
    def create_accumulator(self):
        return None, []

    def add(self, value, accumulator):
        return value[0], [*accumulator[1], value[1]]

    def merge(self, acc_a, acc_b):
        return acc_a[0] or acc_b[0], acc_a[1] + acc_b[1]

    def get_result(self, accumulator):
        return accumulator[0], sorted(accumulator[1])


class Collected(WindowFunction):
    def apply(self, key, window, inputs):
        for part in inputs:
            yield key, span(window), part[1]


class NumberGap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element[2] + 1


class NumberWindows(WindowAssigner):
    """Windows of the element's number and not of its time, so that late windows have elements that are not."""

    def __init__(self, size):
        self.size = size

    def assign_windows(self, element, timestamp, context):
        start = timestamp - timestamp % self.size + (element[2] - 4) * self.size
        return [TimeWindow(start, start + self.size)]

    def get_default_trigger(self, env):
        return EventTimeTrigger()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


class Eager(Trigger):
    """Fires at every third element, a while after the first one, and at the end; numbers above 7 purge."""

    def __init__(self, delay):
        self.delay = delay
        self.seen = ListStateDescriptor("seen", Types.LONG())

    def on_element(self, element, timestamp, window, ctx):
        state = ctx.get_partitioned_state(self.seen)
        state.add(element[1])
        seen = len(list(state.get()))
        if seen == 1:
            ctx.register_event_time_timer(timestamp + self.delay)
        ctx.register_event_time_timer(window.max_timestamp())
        if element[2] > 7:
            return TriggerResult.FIRE_AND_PURGE
        return TriggerResult.FIRE if seen % 3 == 0 else TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        if time == window.max_timestamp():
            return TriggerResult.FIRE_AND_PURGE
        return TriggerResult.FIRE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def can_merge(self):
        return True

    def on_merge(self, window, ctx):
        ctx.merge_partitioned_state(self.seen)
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window, ctx):
        ctx.delete_event_time_timer(window.max_timestamp())
        ctx.get_partitioned_state(self.seen).clear()


# Asynchronous requests


class Ask(AsyncFunction):
    """Every third answer is slow, and one number has none."""

    async def async_invoke(self, value):
        await asyncio.sleep(0.004 if value[1] % 3 == 0 else 0)
        return [] if value[2] == 4 else [(value[0], value[1], value[2] * 2)]

    def timeout(self, value):
        return [(value[0], -1, -1)]


# Functions with timers and state


class Alarm(KeyedProcessFunction):
    """An alarm some time after each element, which may ring again; some numbers take it back."""

    def __init__(self, delay, again, stops):
        self.delay, self.again, self.stops = delay, again, stops

    def open(self, runtime_context):
        self.rings = runtime_context.get_state(ValueStateDescriptor("rings", Types.LONG()))
        self.due = runtime_context.get_state(ValueStateDescriptor("due", Types.LONG()))

    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        if value[2] == self.stops and self.due.value() is not None:
            timers.delete_event_time_timer(self.due.value())
            self.due.clear()
            yield value[0], "stopped", value[1]
            return
        due = ctx.timestamp() + self.delay
        timers.register_event_time_timer(due)
        self.due.update(due)
        yield value[0], "seen", value[1], ctx.timestamp(), timers.current_watermark(), ctx.get_current_key()

    def on_timer(self, timestamp, ctx):
        rings = (self.rings.value() or 0) + 1
        self.rings.update(rings)
        if rings % 3:
            ctx.timer_service().register_event_time_timer(timestamp + self.again)
        is_event_time = ctx.time_domain() == TimeDomain.EVENT_TIME
        yield ctx.get_current_key(), "ring", timestamp, rings, ctx.timer_service().current_watermark(), is_event_time
        if rings % 4 == 0:
            yield SIDE, (ctx.get_current_key(), rings)
            self.rings.clear()


class Ledger(KeyedProcessFunction):
    """Every kind of state, read after each element and cleared by a timer."""

    def __init__(self, pause):
        self.pause = pause

    def open(self, runtime_context):
        self.ids = runtime_context.get_list_state(ListStateDescriptor("ids", Types.LONG()))
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.LONG(), Types.LONG()))
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())
        )
        self.seen = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("seen", Collect(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        key, name, number = value
        self.ids.add(name)
        self.counts.put(number, (self.counts.get(number) or 0) + 1)
        self.total.add(number)
        self.seen.add(value)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() // self.pause * self.pause + self.pause)
        if number == 2:
            self.counts.remove(2)
        yield key, "now", self.total.get(), list(self.ids.get()), sorted(self.counts.items()), self.seen.get()

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), "sum", timestamp, self.total.get(), sorted(self.counts.keys())
        if timestamp // self.pause % 2:
            self.ids.clear()
            self.counts.clear()
            self.total.clear()
            self.seen.clear()
        else:
            self.ids.update([-1])


# Functions of two streams: each waits for time to pass, so that it does not matter which stream is read first


class Pair(KeyedCoProcessFunction):
    """Pairs elements of both streams that are at most `reach` apart, when time has passed both."""

    def __init__(self, reach):
        self.reach = reach

    def open(self, runtime_context):
        self.left = runtime_context.get_map_state(MapStateDescriptor("left", Types.LONG(), Types.PICKLED_BYTE_ARRAY()))
        self.right = runtime_context.get_map_state(
            MapStateDescriptor("right", Types.LONG(), Types.PICKLED_BYTE_ARRAY())
        )

    def _keep(self, state, value, ctx):
        state.put(ctx.timestamp(), [*(state.get(ctx.timestamp()) or []), value[1]])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + self.reach)

    def process_element1(self, value, ctx):
        self._keep(self.left, value, ctx)

    def process_element2(self, value, ctx):
        self._keep(self.right, value, ctx)

    def on_timer(self, timestamp, ctx):
        time = timestamp - self.reach
        mine = sorted(self.left.get(time) or [])
        theirs = []
        for other, ids in self.right.items():
            if abs(other - time) <= self.reach:
                theirs.extend(ids)
        if mine:
            yield ctx.get_current_key(), time, mine, sorted(theirs)
        elif self.right.contains(time):
            yield SIDE, (ctx.get_current_key(), time, sorted(self.right.get(time)))


class Both(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield value[0], "left", value[1], ctx.timestamp()

    def process_element2(self, value, ctx):
        if value[2] > 5:
            yield SIDE, (value[0], value[1])
        yield value[0], "right", value[1], ctx.timestamp()


class BothMapped(CoMapFunction):
    def map1(self, value):
        return value[0], value[1], value[2] * 10

    def map2(self, value):
        return value[0], value[1] + 500, value[2]


class BothFlatMapped(CoFlatMapFunction):
    def flat_map1(self, value):
        for number in range(value[2] % 3):
            yield value[0], value[1], number

    def flat_map2(self, value):
        if value[2] % 2:
            yield value


RULES = MapStateDescriptor("rules", Types.LONG(), Types.PICKLED_BYTE_ARRAY())


class Ruled(KeyedBroadcastProcessFunction):
    """Judges an element by the rules of its time, once time has passed it."""

    def open(self, runtime_context):
        self.waiting = runtime_context.get_map_state(
            MapStateDescriptor("waiting", Types.LONG(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        self.waiting.put(ctx.timestamp(), [*(self.waiting.get(ctx.timestamp()) or []), value[1]])
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[1], [ctx.timestamp(), value[2]])

    def on_timer(self, timestamp, ctx):
        rules = [rule for _, rule in ctx.get_broadcast_state(RULES).items() if rule[0] <= timestamp]
        ids = sorted(self.waiting.get(timestamp))
        self.waiting.remove(timestamp)
        yield ctx.get_current_key(), timestamp, ids, len(rules), sum(rule[1] for rule in rules)


class Told(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield value[0], "told", value[1], ctx.timestamp()

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[2], value[0])
        yield SIDE, (value[0], ctx.get_broadcast_state(RULES).get(value[2]))


# What the runner sees


class Seen(ProcessFunction):
    """A result as a line: program, output, value, timestamp."""

    def __init__(self, program, output):
        self.program, self.output = program, output

    def process_element(self, value, ctx):
        yield json.dumps([self.program, self.output, value, ctx.timestamp()])
