"""Warns when a large payment follows a tiny one of the same card within a minute: someone tried the card first."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor

TINY, LARGE = 1.00, 500.00
MINUTE = 60 * 1000

# card, second, amount
PAYMENTS = [
    ("1111", 0, 0.20),
    ("2222", 4, 700.00),
    ("1111", 30, 620.00),
    ("3333", 40, 0.99),
    ("2222", 50, 0.05),
    ("3333", 55, 20.00),
    ("3333", 70, 900.00),
    ("1111", 80, 0.10),
    ("2222", 111, 800.00),
    ("1111", 140, 501.00),
    ("4444", 150, 0.50),
    ("4444", 152, 0.75),
    ("4444", 211, 500.01),
]


class PaymentSecond(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class DetectFraud(KeyedProcessFunction):
    """Remembers a tiny payment until the next one, and at most for a minute."""

    def open(self, runtime_context: RuntimeContext):
        self.tried_at = runtime_context.get_state(ValueStateDescriptor("tried at", Types.LONG()))

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        card, second, amount = value
        tried_at = self.tried_at.value()
        if tried_at is not None:
            if amount > LARGE and ctx.timestamp() <= tried_at + MINUTE:
                yield f"card {card}: {amount:.2f} at second {second}"
            ctx.timer_service().delete_event_time_timer(tried_at + MINUTE)
            self.tried_at.clear()
        if amount < TINY:
            self.tried_at.update(ctx.timestamp())
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + MINUTE)

    def on_timer(self, timestamp, ctx: "KeyedProcessFunction.OnTimerContext"):
        self.tried_at.clear()
        return []


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(PaymentSecond())
    payments = env.from_collection(PAYMENTS).assign_timestamps_and_watermarks(strategy)
    payments.key_by(lambda payment: payment[0]).process(DetectFraud(), output_type=Types.STRING()).print()
    env.execute("fraud detection")


if __name__ == "__main__":
    main()
