"""Joins orders with their payments: those within fifteen minutes after the order count.

PyFlink has no interval join, so a function of both streams keeps what it saw, and looks when time has passed.
"""

from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedCoProcessFunction, RuntimeContext
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor

MINUTE = 60 * 1000
PATIENCE = 15 * MINUTE
UNPAID = OutputTag("unpaid", Types.STRING())

# order, minute, cents
ORDERS = [("o1", 0, 900), ("o2", 2, 1500), ("o4", 9, 80), ("o3", 7, 2500), ("o5", 20, 100)]
PAYMENTS = [
    ("o1", 3, 400),
    ("o1", 15, 500),
    ("o3", 6, 2500),
    ("o2", 18, 1500),
    ("o4", 10, 80),
    ("o5", 35, 60),
    ("o5", 36, 40),
]


class Minute(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * MINUTE


class JoinPayments(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.ordered = runtime_context.get_state(ValueStateDescriptor("ordered", Types.LONG()))
        self.paid = runtime_context.get_map_state(MapStateDescriptor("paid", Types.LONG(), Types.LONG()))

    def process_element1(self, value, ctx):
        self.ordered.update(value[2])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + PATIENCE)

    def process_element2(self, value, ctx):
        self.paid.put(ctx.timestamp(), value[2])

    def on_timer(self, timestamp, ctx):
        cents = self.ordered.value()
        paid = 0
        for time, part in sorted(self.paid.items()):
            if timestamp - PATIENCE <= time <= timestamp:
                paid += part
                yield f"{ctx.get_current_key()}: {part} of {cents} in minute {time // MINUTE}"
        if paid < cents:
            yield UNPAID, f"{ctx.get_current_key()}: {cents - paid} of {cents} not paid"
        self.ordered.clear()
        self.paid.clear()


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    def strategy():
        bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(12))
        return bounded.with_timestamp_assigner(Minute())

    orders = env.from_collection(ORDERS).assign_timestamps_and_watermarks(strategy())
    payments = env.from_collection(PAYMENTS).assign_timestamps_and_watermarks(strategy())
    joined = (
        orders.connect(payments)
        .key_by(lambda order: order[0], lambda payment: payment[0])
        .process(JoinPayments(), output_type=Types.STRING())
    )
    joined.print("paid")
    joined.get_side_output(UNPAID).print("unpaid")
    env.execute("order payments")


if __name__ == "__main__":
    main()
