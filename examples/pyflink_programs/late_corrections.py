"""Sums of each minute that stay right although some amounts come late.

Amounts that come while their window still stands make it fire again; later ones leave by the side, and are added to
the sum of their minute behind the windows. A day later the sum is final.
"""

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedProcessFunction, ProcessWindowFunction, RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows

MINUTE = 60 * 1000
DAY = 24 * 60 * MINUTE
LATE = OutputTag("late", Types.TUPLE([Types.LONG(), Types.LONG()]))

# second, amount
AMOUNTS = [
    (5, 10),
    (30, 20),
    (62, 1),
    (50, 5),
    (125, 7),
    (59, 3),
    (130, 2),
    (400, 9),
    (20, 100),
    (61, 50),
    (700, 4),
    (3, 1000),
]


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[0] * 1000


class SumOfMinute(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield context.window().start // MINUTE, "sum", sum(element[1] for element in elements)


class Corrected(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))
        self.late = runtime_context.get_state(ValueStateDescriptor("late", Types.LONG()))

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        minute, kind, amount = value
        if kind == "sum":
            self.sum.update(amount)
        else:
            self.late.update((self.late.value() or 0) + amount)
        ctx.timer_service().register_event_time_timer(minute * MINUTE + DAY)

    def on_timer(self, timestamp, ctx: "KeyedProcessFunction.OnTimerContext"):
        total = (self.sum.value() or 0) + (self.late.value() or 0)
        yield f"minute {ctx.get_current_key()}: {total}"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
    amounts = env.from_collection(
        AMOUNTS, type_info=Types.TUPLE([Types.LONG(), Types.LONG()])
    ).assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Second()))
    sums = (
        amounts.key_by(lambda amount: "all")
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
        .allowed_lateness(2 * MINUTE)
        .side_output_late_data(LATE)
        .process(SumOfMinute())
    )
    late = sums.get_side_output(LATE).map(lambda amount: (amount[0] // 60, "late", amount[1]))
    (sums.union(late).key_by(lambda part: part[0]).process(Corrected(), output_type=Types.STRING()).print())
    env.execute("late corrections")


if __name__ == "__main__":
    main()
