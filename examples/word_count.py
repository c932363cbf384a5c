"""Words per minute of event time, in the PyFlink way.

tidegate run examples/word_count.py --on local
tidegate run examples/word_count.py --on spark
tidegate plan examples/word_count.py
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.common import Duration, Time, WatermarkStrategy
from tidegate.datastream import StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows

# Seconds of event time and a text, in the order of arrival; the fifth line is out of order, within the bound of 10 s.
LINES = (
    "5 to be or not to be",
    "30 that is the question",
    "58 to die",
    "66 to sleep",
    "57 to be late",
    "95 perchance to dream",
    "150 there is the rub",
    "185 the rest is silence",
)


def words(line: str) -> Iterator[tuple[str, int]]:
    for word in line.split()[1:]:
        yield word, 1


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(parallelism=2)
    counts = (
        env.from_collection(LINES)
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10)).with_timestamp_assigner(
                lambda line, _: int(line.split()[0]) * 1_000
            )
        )
        .flat_map(words)
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(60)))
        .sum(1)
    )
    counts.print()
    env.execute("word count")


if __name__ == "__main__":
    main()
