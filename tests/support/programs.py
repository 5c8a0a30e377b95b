"""Programs of ours in processes of their own, forked from one that has imported them already.

A start of Python costs more than most of what such a program then does, and fleets start it again and again.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

_STARTER = multiprocessing.get_context("forkserver")
_STARTER.set_forkserver_preload(
    ["tests.engine.worker.poison_program", "tests.engine.worker.rate_program", "tests.ownership.program"]
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
    if log is not None:
        with log.open("ab") as said:
            for stream in (1, 2):
                os.dup2(said.fileno(), stream)
    main(**options)
