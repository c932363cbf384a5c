"""Warns of taxi rides that take longer than two hours, as soon as they do.

A ride has a start and an end, and they may come in either order. A timer watches a ride that has started. If the end
comes first and shows that the ride was long, nobody waits for the timer.
"""

from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor

MINUTE = 60 * 1000
LIMIT = 120 * MINUTE

# ride, what happened, minute
EVENTS = [
    (1, "start", 0),
    (2, "start", 5),
    (1, "end", 40),
    (3, "end", 50),
    (3, "start", 45),
    (4, "start", 60),
    (5, "start", 61),
    (2, "end", 126),
    (4, "end", 180),
    (6, "start", 190),
    (7, "end", 200),
    (7, "start", 197),
    (5, "end", 400),
]


class EventMinute(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2] * MINUTE


class WatchRides(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.start = runtime_context.get_state(ValueStateDescriptor("start", Types.LONG()))
        self.end = runtime_context.get_state(ValueStateDescriptor("end", Types.LONG()))
        self.is_told = runtime_context.get_state(ValueStateDescriptor("is told", Types.BOOLEAN()))

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        ride, event, _ = value
        timers = ctx.timer_service()
        if event == "start":
            self.start.update(ctx.timestamp())
            if self.end.value() is None:
                timers.register_event_time_timer(ctx.timestamp() + LIMIT)
        else:
            self.end.update(ctx.timestamp())
        start, end = self.start.value(), self.end.value()
        if start is None or end is None:
            return
        timers.delete_event_time_timer(start + LIMIT)
        if end - start > LIMIT and not self.is_told.value():
            yield f"ride {ride} is long"
        self.start.clear()
        self.end.clear()

    def on_timer(self, timestamp, ctx: "KeyedProcessFunction.OnTimerContext"):
        self.is_told.update(True)
        yield f"ride {ctx.get_current_key()} is long"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(10))
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(EventMinute())
    )
    events.key_by(lambda event: event[0]).process(WatchRides(), output_type=Types.STRING()).print()
    env.execute("long rides")


if __name__ == "__main__":
    main()
