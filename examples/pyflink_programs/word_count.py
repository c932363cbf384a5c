"""Counts words that come over a socket: `python word_count.py localhost 9999`.

PyFlink has no source for sockets in Python, so a function opens the connection and reads it to its end.
"""

import socket
import sys

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import FlatMapFunction


class LinesOf(FlatMapFunction):
    def flat_map(self, value):
        host, port = value
        with socket.create_connection((host, port), timeout=30) as connection:
            for line in connection.makefile(encoding="utf-8"):
                yield line.rstrip("\n")


def words(line):
    for word in line.lower().split():
        yield word.strip(".,;:!?"), 1


def main(host, port):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    (
        env.from_collection([(host, port)])
        .flat_map(LinesOf())
        .flat_map(words)
        .filter(lambda pair: pair[0] != "")
        .key_by(lambda pair: pair[0])
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
        .map(lambda pair: f"{pair[0]}: {pair[1]}", output_type=Types.STRING())
        .print()
    )
    env.execute("word count")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
