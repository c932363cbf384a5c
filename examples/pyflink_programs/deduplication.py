"""Lets every message through once: what a sender repeats within ten minutes is dropped."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor

MINUTE = 60 * 1000
MEMORY = 10 * MINUTE
REPEATED = OutputTag("repeated", Types.STRING())

# message, minute
MESSAGES = [
    ("m1", 0),
    ("m2", 1),
    ("m1", 2),
    ("m3", 4),
    ("m2", 5),
    ("m1", 10),
    ("m1", 11),
    ("m3", 14),
    ("m2", 30),
    ("m1", 30),
    ("m2", 31),
]


class MessageMinute(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * MINUTE


class Once(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.first_at = runtime_context.get_state(ValueStateDescriptor("first at", Types.LONG()))

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        message, minute = value
        first_at = self.first_at.value()
        if first_at is not None and ctx.timestamp() < first_at + MEMORY:
            yield REPEATED, f"{message} of minute {minute}"
            return
        self.first_at.update(ctx.timestamp())
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + MEMORY)
        yield f"{message} of minute {minute}"

    def on_timer(self, timestamp, ctx: "KeyedProcessFunction.OnTimerContext"):
        if self.first_at.value() == timestamp - MEMORY:
            self.first_at.clear()
        return []


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(MessageMinute())
    messages = env.from_collection(MESSAGES).assign_timestamps_and_watermarks(strategy)
    once = messages.key_by(lambda message: message[0]).process(Once(), output_type=Types.STRING())
    once.print()
    once.get_side_output(REPEATED).print("repeated")
    env.execute("deduplication")


if __name__ == "__main__":
    main()
