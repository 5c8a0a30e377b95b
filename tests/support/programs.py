"""Programs of ours in processes of their own, forked from one that has imported them already.

A start of Python costs more than most of what such a program then does, and fleets start it again and again.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
_STARTER = multiprocessing.get_context("forkserver")
_STARTER.set_forkserver_preload(
    [
        "tests.engine.worker.at_most_once_program",
        "tests.engine.worker.concurrency_program",
        "tests.engine.worker.forward_program",
        "tests.engine.worker.key_limit_program",
        "tests.engine.worker.poison_program",
        "tests.engine.worker.rate_program",
        "tests.ownership.program",
        "tests.support.rmq_command",
    ]
)


class Program:
    """``main(**options)`` in a process of its own, its output in ``log``; what a ``subprocess.Popen`` has of that."""

    def __init__(self, main: Callable[..., None], options: dict[str, Any], log: Path | None = None) -> None:
        if log is not None:
            log.touch()
        # A daemon, or the end of the tests would wait for one that was left.
        self._process = _STARTER.Process(target=_run, args=(main, options, log), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout_s: float | None = None) -> int:
        self._process.join(timeout_s)
        code = self.returncode
        if code is None:
            raise subprocess.TimeoutExpired(str(self._process), timeout_s or 0)
        return code

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def _run(main: Callable[..., None], options: dict[str, Any], log: Path | None) -> None:
    if sys.platform == "linux":
        _end_with_the_tests()
    if log is not None:
        with log.open("ab") as said:
            for stream in (1, 2):
                os.dup2(said.fileno(), stream)
    main(**options)


def _end_with_the_tests() -> None:
    """However these end, not even a frozen one stays.

    What it was forked from ends when nobody holds the other end of a pipe, of which everything forked gets a copy.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    starter: Any = forkserver._forkserver
    if starter._forkserver_alive_fd is not None:
        os.close(starter._forkserver_alive_fd)  # behind this what it was forked from may be gone
        starter._forkserver_alive_fd = None
