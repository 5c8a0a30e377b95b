"""Starts a child that ends with this process, however this process ends."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import IO

_TETHER = Path(__file__).with_name("_tether.py")
_Job = tuple[list[str], dict[str, object], "Future[subprocess.Popen[bytes]]"]

_lock = threading.Lock()
_jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
_thread: threading.Thread | None = None


def tethered(program: Sequence[str]) -> list[str]:
    """The command that runs ``program`` so that the kernel ends it with the thread of ours that starts it."""
    return [sys.executable, "-I", "-S", str(_TETHER), str(os.getpid()), *program]


def spawn_tethered(
    program: Sequence[str], *, folder: Path, env: Mapping[str, str] | None, output: IO[bytes], keep_fd: int
) -> subprocess.Popen[bytes]:
    """Start ``program`` in ``folder`` with its output in ``output`` and ``keep_fd`` inherited.

    On Linux the kernel kills it when this process ends; elsewhere that is the caller's job. It is in a
    session of its own: Ctrl-C is for whoever supervises it. Raises ``OSError`` when it cannot be started.
    """
    command = tethered(program)
    options: dict[str, object] = {
        "cwd": folder,
        "env": env,
        "stdin": subprocess.DEVNULL,
        "stdout": output,
        "stderr": subprocess.STDOUT,
        "pass_fds": (keep_fd,),
        "start_new_session": True,
    }
    started: Future[subprocess.Popen[bytes]] = Future()
    _ensure_thread()
    _jobs.put((command, options, started))
    return started.result()


def _ensure_thread() -> None:
    # The kernel ends a tethered child with the *thread* that started it, so all children are started by one
    # thread that lives as long as the process. A fork has its own (threads do not survive it).
    global _thread
    with _lock:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_start_children, name="embedded-servers", daemon=True)
            _thread.start()


def _start_children() -> None:
    while True:
        command, options, started = _jobs.get()
        try:
            started.set_result(subprocess.Popen(command, **options))  # type: ignore[call-overload]
        except Exception as error:
            started.set_exception(error)
