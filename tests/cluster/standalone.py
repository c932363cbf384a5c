"""A standalone Spark cluster of several worker processes, on loopback."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@contextlib.contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """The address of a master with two workers, which are ended with the block."""
    folder.mkdir(parents=True, exist_ok=True)
    home = Path(pyspark.__file__).parent
    port = free_port()
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_DAEMON_MEMORY": "256m",
    }

    def spawn(*arguments: str) -> subprocess.Popen[bytes]:
        command = [str(home / "bin" / "spark-class"), *arguments]
        with (folder / f"{arguments[0].rsplit('.', 1)[-1]}-{len(processes)}.log").open("wb") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)

    processes: list[subprocess.Popen[bytes]] = []
    url = f"spark://127.0.0.1:{port}"
    processes.append(
        spawn("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
    )
    _wait_for(port)
    worker = ("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "700m", url)
    processes += [spawn("org.apache.spark.deploy.worker.Worker", *worker) for _ in range(2)]
    try:
        yield url
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(30)


def _wait_for(port: int) -> None:
    for _ in range(120):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.25)
        else:
            return
    raise AssertionError("the master did not start")
