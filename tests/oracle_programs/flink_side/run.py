"""Runs programs as one job on Flink's mini cluster: `python run.py JAR MODE`, with their texts on standard input.

The line with the outputs starts with a mark, because Flink prints too.
"""

import json
import sys
from pathlib import Path

from pyflink.common import Configuration, Types
from pyflink.datastream import StreamExecutionEnvironment

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from running import run_together  # noqa: E402

MARK = "outputs:"


def environment(jar, mode):
    settings = Configuration()
    settings.set_string("pipeline.jars", Path(jar).resolve().as_uri())
    settings.set_string("python.execution-mode", mode)
    # An element is a bundle: PyFlink holds watermarks back until a bundle ends, and the next element would not be late.
    settings.set_string("python.fn-execution.bundle.size", "1")
    settings.set_string("taskmanager.memory.network.min", "512mb")
    settings.set_string("taskmanager.memory.network.max", "512mb")
    settings.set_string("taskmanager.memory.managed.size", "1g")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(1)
    return env


def main():
    jar, mode = sys.argv[1:]
    outputs = run_together(environment(jar, mode), json.load(sys.stdin), Types.STRING())
    sys.stdout.write(f"{MARK}{json.dumps(outputs)}\n")


if __name__ == "__main__":
    main()
