"""Finds the driver with the most tips in each hour: windows by driver, then one window over all drivers."""

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import AggregateFunction, ProcessAllWindowFunction, ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows

MINUTE = 60 * 1000

# driver, minute, tip in cents
FARES = [
    ("ann", 3, 250),
    ("bob", 7, 100),
    ("ann", 20, 150),
    ("cid", 15, 390),
    ("bob", 59, 320),
    ("cid", 60, 0),
    ("ann", 75, 80),
    ("bob", 71, 500),
    ("cid", 119, 450),
    ("ann", 121, 10),
    ("ann", 250, 700),
    ("bob", 245, 200),
]


class FareMinute(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * MINUTE


class SumOfTips(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[2]

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class WithDriver(ProcessWindowFunction):
    def process(self, key, context, elements):
        for total in elements:
            yield key, total


class BestDriver(ProcessAllWindowFunction):
    def process(self, context, elements):
        driver, total = max(elements, key=lambda pair: pair[1])
        yield f"hour {context.window().start // (60 * MINUTE)}: {driver} with {total}"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(6))
    fares = env.from_collection(FARES).assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(FareMinute()))
    by_driver = (
        fares.key_by(lambda fare: fare[0])
        .window(TumblingEventTimeWindows.of(Time.hours(1)))
        .aggregate(SumOfTips(), WithDriver())
    )
    best = by_driver.window_all(TumblingEventTimeWindows.of(Time.hours(1)))
    best.process(BestDriver(), output_type=Types.STRING()).print()
    env.execute("hourly tips")


if __name__ == "__main__":
    main()
