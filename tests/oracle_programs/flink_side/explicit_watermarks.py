"""Elements with the watermarks that follow them, on Flink: a Java generator reads them out of typed rows."""

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.java_gateway import get_gateway


def stream_of(env, elements):
    """A stream of (key, id, number) from (timestamp, watermark or None, key, id, number)."""
    row = Types.ROW([Types.LONG(), Types.LONG(), Types.STRING(), Types.LONG(), Types.LONG()])
    strategy = WatermarkStrategy(get_gateway().jvm.tidegate.oracle.ExplicitWatermarks.strategy())
    rows = env.from_collection([Row(*element) for element in elements], row)
    return rows.assign_timestamps_and_watermarks(strategy).map(lambda it: (it[2], it[3], it[4]))
