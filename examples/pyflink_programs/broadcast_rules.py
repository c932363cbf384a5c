"""Checks the readings of sensors by limits that change while the program runs.

Every subtask gets every limit. A reading waits until time has passed it, and is then checked by the limits of its time,
whichever of the two streams was read first.
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedBroadcastProcessFunction, RuntimeContext
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor

# sensor, second, degrees
READINGS = [
    ("boiler", 1, 80),
    ("fridge", 2, 4),
    ("boiler", 5, 97),
    ("fridge", 6, 9),
    ("boiler", 9, 97),
    ("fridge", 12, 9),
    ("boiler", 14, 60),
    ("fridge", 15, 3),
]
# name of the limit, second from which on it holds, sensor, most degrees; None takes it away
LIMITS = [
    ("hot", 0, "boiler", 95),
    ("warm", 3, "fridge", 8),
    ("hot", 7, "boiler", 99),
    ("warm", 10, "fridge", None),
    ("cold", 11, "boiler", 50),
    ("cool", 13, "fridge", 2),
]

KNOWN_LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.PICKLED_BYTE_ARRAY())


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class Check(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value, ctx):
        self.waiting.add(value)
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def process_broadcast_element(self, value, ctx):
        name, second, sensor, degrees = value
        limits = ctx.get_broadcast_state(KNOWN_LIMITS)
        limits.put(name, [*(limits.get(name) or []), (second, sensor, degrees)])

    def on_timer(self, timestamp, ctx):
        due, waiting = [], []
        for reading in self.waiting.get():
            (due if reading[1] * 1000 <= timestamp else waiting).append(reading)
        self.waiting.update(waiting)
        for sensor, second, degrees in due:
            for name, versions in sorted(ctx.get_broadcast_state(KNOWN_LIMITS).items()):
                current = [version for version in versions if version[0] <= second and version[1] == sensor]
                if current and current[-1][2] is not None and degrees > current[-1][2]:
                    yield f"{sensor} at second {second}: {degrees} is more than {current[-1][2]} ({name})"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    readings = env.from_collection(READINGS).assign_timestamps_and_watermarks(strategy)
    limits = env.from_collection(LIMITS).assign_timestamps_and_watermarks(strategy)
    (
        readings.key_by(lambda reading: reading[0])
        .connect(limits.broadcast(KNOWN_LIMITS))
        .process(Check(), output_type=Types.STRING())
        .print()
    )
    env.execute("broadcast rules")


if __name__ == "__main__":
    main()
