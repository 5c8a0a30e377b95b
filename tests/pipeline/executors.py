"""Executors of a standalone cluster: which one has just asked Redis, and what happens to it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.pipeline.standalone import Standalone
from tests.support.descendants import descendants
from tests.support.proxy import TcpProxy
from tests.support.waiting import wait_until

PROGRAM = b"CoarseGrainedExecutorBackend"
PATIENCE_S = 600


def running(cluster: Standalone) -> list[int]:
    """The executors that there are."""
    found = []
    for pid in cluster.descendants():
        with contextlib.suppress(OSError):
            if PROGRAM in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def stalled_at(cluster: Standalone, proxy: TcpProxy, command: bytes, nth: int = 1) -> tuple[int, int]:
    """Has Redis fall silent when a task sends that command for the ``nth`` time; gives the executor, and the Python
    that waits."""
    sent = Counter[int]()
    proxy.stall_at(command)
    while True:
        wait_until(proxy.stalled.is_set, timeout_s=PATIENCE_S, what=f"a task to send {command!r}")
        sent[proxy.stalled_by] += 1
        if sent[proxy.stalled_by] >= nth and (found := _whose(cluster, proxy.stalled_by)):
            return found
        proxy.stall_at(command)
        proxy.flow()  # it was the job itself, or another task


def kill_each(cluster: Standalone, proxy: TcpProxy, command: bytes, until: Callable[[], bool]) -> None:
    """Kills every executor that sends that command."""

    def look() -> str:
        return "over" if until() else "stalled" if proxy.stalled.is_set() else ""

    proxy.stall_at(command)
    while wait_until(look, timeout_s=PATIENCE_S, what=f"a task to send {command!r}, or the end") != "over":
        if found := _whose(cluster, proxy.stalled_by):
            kill(found[0])
        proxy.stall_at(command)
        proxy.flow()
    proxy.stall_at(None)
    proxy.flow()


def _whose(cluster: Standalone, port: int) -> tuple[int, int] | None:
    """The executor, and its Python, that is connected from there."""
    for executor in running(cluster):
        for pid in descendants(executor):
            if has_port(pid, port):
                return executor, pid
    return None


def has_port(pid: int, port: int) -> bool:
    """Whether a connection from that port of this machine is the process's."""
    inodes = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1].rpartition(":")[2], 16) == port:
            inodes.add(f"socket:[{fields[9]}]")
    with contextlib.suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):  # it is closed just now
                if str(link.readlink()) in inodes:
                    return True
    return False


def kill(executor: int) -> None:
    """SIGKILL, as for want of memory."""
    os.kill(executor, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{executor}").exists(), what="the executor to be gone")


def pause(python: int) -> None:
    """Stops a task's Python. Its executor goes on: others read from that what they need to do the task instead."""
    os.kill(python, signal.SIGSTOP)


def go_on(python: int) -> None:
    """Continues what was paused, if it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(python, signal.SIGCONT)
