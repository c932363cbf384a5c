"""The three products that were looked at most, every five minutes for the last ten."""

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import AggregateFunction, KeyedProcessFunction, ProcessWindowFunction, RuntimeContext
from pyflink.datastream.state import ListStateDescriptor
from pyflink.datastream.window import SlidingEventTimeWindows

MINUTE = 60 * 1000
PLACES = 3

# minute, products that somebody looked at
VIEWS = [
    (0, "lamp desk lamp"),
    (2, "chair lamp rug"),
    (1, "rug"),
    (6, "desk desk chair"),
    (4, "sofa lamp"),
    (9, "sofa sofa rug desk"),
    (13, "chair"),
    (11, "rug sofa"),
    (22, "lamp"),
]


class ViewMinute(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[0] * MINUTE


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class WithWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        for count in elements:
            yield context.window().end, key, count


class Top(KeyedProcessFunction):
    """Collects the counts of a window, and ranks them when its time has passed."""

    def open(self, runtime_context: RuntimeContext):
        self.counts = runtime_context.get_list_state(ListStateDescriptor("counts", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        end, product, count = value
        self.counts.add((product, count))
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp, ctx: "KeyedProcessFunction.OnTimerContext"):
        ranked = sorted(self.counts.get(), key=lambda pair: (-pair[1], pair[0]))
        self.counts.clear()
        best = ", ".join(f"{product} {count}" for product, count in ranked[:PLACES])
        yield f"until minute {timestamp // MINUTE}: {best}"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(3))
    views = env.from_collection(VIEWS).assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(ViewMinute()))
    counts = (
        views.flat_map(lambda view: [(product, view[0]) for product in view[1].split()])
        .key_by(lambda view: view[0])
        .window(SlidingEventTimeWindows.of(Time.minutes(10), Time.minutes(5)))
        .aggregate(Count(), WithWindow())
    )
    counts.key_by(lambda count: count[0]).process(Top(), output_type=Types.STRING()).print()
    env.execute("top products")


if __name__ == "__main__":
    main()
