"""Cuts the clicks of each visitor into sessions that end after ten minutes of silence."""

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import EventTimeSessionWindows

MINUTE = 60 * 1000

# visitor, minute, page
CLICKS = [
    ("mia", 0, "/"),
    ("leo", 1, "/"),
    ("mia", 4, "/shop"),
    ("leo", 11, "/jobs"),
    ("mia", 8, "/shop/lamp"),
    ("leo", 6, "/about"),
    ("mia", 19, "/"),
    ("leo", 40, "/"),
    ("mia", 26, "/help"),
    ("zoe", 41, "/shop"),
    ("leo", 49, "/jobs"),
    ("zoe", 52, "/shop"),
]


class ClickMinute(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * MINUTE


class Summary(ProcessWindowFunction):
    def process(self, key, context, elements):
        clicks = sorted(elements, key=lambda click: click[1])
        path = " ".join(click[2] for click in clicks)
        window = context.window()
        yield f"{key} {window.start // MINUTE}-{window.end // MINUTE}: {path}"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(20))
    clicks = env.from_collection(CLICKS).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(ClickMinute())
    )
    (
        clicks.key_by(lambda click: click[0])
        .window(EventTimeSessionWindows.with_gap(Time.minutes(10)))
        .process(Summary(), output_type=Types.STRING())
        .print()
    )
    env.execute("click sessions")


if __name__ == "__main__":
    main()
