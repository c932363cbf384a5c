"""What random programs are put together from, behind `functions.py`: for both engines the same text.

An element is (key, id, number). A result starts with its key, and says nothing that Flink leaves open: ids are sorted,
because the order of a merged session is nobody's promise.
"""

# ruff: noqa: F401, F821
import asyncio
import json

from explicit_watermarks import stream_of
from pyflink.common import Time, Types
from pyflink.datastream import AsyncDataStream, AsyncFunction, OutputTag
from pyflink.datastream.functions import (
    FlatMapFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor
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


# What the runner sees


class Seen(ProcessFunction):
    """A result as a line: program, output, value, timestamp."""

    def __init__(self, program, output):
        self.program, self.output = program, output

    def process_element(self, value, ctx):
        yield json.dumps([self.program, self.output, value, ctx.timestamp()])
