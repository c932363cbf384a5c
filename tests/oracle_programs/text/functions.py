"""Functions with state and timers, for random programs: PyFlink's names only, for both engines the same text."""

from pyflink.common import Types
from pyflink.datastream import OutputTag, TimeDomain
from pyflink.datastream.functions import (
    AggregateFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
)
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

SIDE = OutputTag("side", Types.PICKLED_BYTE_ARRAY())


class Collect(AggregateFunction):
    def create_accumulator(self):
        return None, []

    def add(self, value, accumulator):
        return value[0], [*accumulator[1], value[1]]

    def merge(self, acc_a, acc_b):
        return acc_a[0] or acc_b[0], acc_a[1] + acc_b[1]

    def get_result(self, accumulator):
        return accumulator[0], sorted(accumulator[1])


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
