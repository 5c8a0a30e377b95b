"""A Python for Spark whose processes are forked from one that has imported what they need.

Spark starts Python anew for each stream and each kind of work, and importing costs more than all they do with a few
rows. ``python -m tests.support.spark_python SOCKET`` is what they are forked from, until its standard input ends.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from ast import literal_eval
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.waiting import wait_until

IMPORTED = (
    "pandas",
    "pyarrow",
    "pyspark.daemon",
    "pyspark.worker",
    "pyspark.sql.pandas.types",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
    "rmq_core.pipeline.sources.journal",
    "rmq_core.pipeline.sources.queues",
)
STAND_IN = """#!{python} -IS
import os, socket, sys
asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
asked.connect({path!r})
said = repr((sys.argv[1:], dict(os.environ), os.getcwd())).encode()
socket.send_fds(asked, [said], [0, 1, 2])
asked.recv(1)
"""
"""What Spark takes for Python. It lives as long as what was forked for it, which ends with it."""

LONGEST = 1 << 17
F_SETSIG = 10  # of Linux


@contextmanager
def forked_python(folder: Path) -> Iterator[Path]:
    """A program to be named as ``PYSPARK_PYTHON``, for ``-m module arguments``."""
    path, program = folder / "python.sock", folder / "python"
    program.write_text(STAND_IN.format(python=sys.executable, path=str(path)))
    program.chmod(0o700)
    command = [sys.executable, "-m", "tests.support.spark_python", str(path)]
    starter = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=Path(__file__).parents[2])
    try:
        wait_until(lambda: path.exists() or starter.poll() is not None, timeout_s=300, what="all is imported")
        yield program
    finally:
        starter.communicate(timeout=60)


def serve(path: str) -> None:
    """Forks whatever is asked for."""
    for module in IMPORTED:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(path)
        listening.listen()
        while listening in select.select([0, listening], [], [])[0]:
            asked, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                become(asked)
            asked.close()


def become(asked: socket.socket) -> None:
    """What the other end of the socket was started as."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    said, files, _, _ = socket.recv_fds(asked, LONGEST, 3)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    fcntl.fcntl(asked, F_SETSIG, signal.SIGTERM)  # when the other end is gone
    fcntl.fcntl(asked, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(asked, fcntl.F_SETFL, fcntl.fcntl(asked, fcntl.F_GETFL) | os.O_ASYNC)
    (_, module, *arguments), environ, folder = literal_eval(said.decode())
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.path[:0] = [each for each in environ.get("PYTHONPATH", "").split(os.pathsep) if each not in sys.path]
    sys.argv[1:] = arguments
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit()


if __name__ == "__main__":
    serve(sys.argv[1])
