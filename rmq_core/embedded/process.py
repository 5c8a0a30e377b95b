"""One child server process: started, watched until it is ready, ended without a trace."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from rmq_core.embedded.folder import DataFolder
from rmq_core.embedded.ports import PortTaken
from rmq_core.embedded.spawn import spawn_tethered
from rmq_core.embedded.waiting import wait_for
from rmq_core.errors import EmbeddedServerError
from rmq_core.private_files import open_private

_LOCK_WAIT_S = 3


class ServerProcess:
    """``program`` run in ``folder``, its output appended to ``folder/server.log``.

    Only one server may run in a folder. It never outlives this process.
    """

    def __init__(
        self,
        name: str,
        program: Sequence[str | Path],
        folder: DataFolder,
        *,
        env: Mapping[str, str] | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        self.name = name
        self.log = folder.path / "server.log"
        self._program = [str(part) for part in program]
        self._folder = folder  # kept, for a temporary one goes with its last user
        self._env = env
        self._stop_signal = stop_signal
        self._child: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int:
        if self._child is None:
            raise EmbeddedServerError(f"{self.name} has not been started")
        return self._child.pid

    def start(self, ready: Callable[[], bool], timeout_s: float) -> None:
        """Start it and return once ``ready()`` is true.

        Raises ``EmbeddedServerError`` with the log's last lines when it ends or is not ready in time
        (``PortTaken`` when that is why), or when another server uses the folder.
        """
        if self.running:
            return
        with _lock_folder(self._folder.path) as lock, open(self.log, "ab", opener=open_private) as log:
            self._log_start = log.tell()
            self._child = spawn_tethered(
                self._program, folder=self._folder.path, env=self._env, output=log, keep_fd=lock
            )
        atexit.register(self._end_with, os.getpid())
        try:
            self._wait_until(ready, timeout_s)
        except BaseException:
            self.kill()
            raise

    def _wait_until(self, ready: Callable[[], bool], timeout_s: float) -> None:
        in_time = wait_for(lambda: not self.running or ready(), timeout_s)
        words = self.log_tail()
        if not self.running:
            kind = PortTaken if "address already in use" in words.lower() else EmbeddedServerError
            raise kind(f"{self.name} ended while starting. It said last:\n{words}")
        if not in_time:
            raise EmbeddedServerError(f"{self.name} was not ready within {timeout_s:g} s. It said last:\n{words}")

    def stop(self, timeout_s: float = 10) -> None:
        """Ask it to end and wait; kill it when it has not ended in ``timeout_s``."""
        if self._child is not None and self.running:
            self._child.send_signal(self._stop_signal)
            self._child.send_signal(signal.SIGCONT)  # a paused process hears nothing
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(timeout_s)
        self.kill()

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash would."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
        atexit.unregister(self._end_with)

    def pause(self) -> None:
        """Freeze it (SIGSTOP): its connections stay open and get no answer."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Continue after ``pause()``."""
        os.kill(self.pid, signal.SIGCONT)

    def log_tail(self, lines: int = 15) -> str:
        """The last lines written to the log since the latest start."""
        with contextlib.suppress(FileNotFoundError), self.log.open("rb") as log:
            log.seek(self._log_start)
            return "\n".join(log.read().decode(errors="replace").splitlines()[-lines:])
        return ""

    def _end_with(self, owner: int) -> None:
        if os.getpid() == owner:  # a fork of the owner must leave it alone
            self.stop()


@contextlib.contextmanager
def _lock_folder(folder: Path) -> Iterator[int]:
    # The server inherits the descriptor, and so the lock is held exactly as long as it runs.
    with open(folder / "lock", "w", opener=open_private) as lock:
        # A server that was just killed may have a child of its own that lives a moment longer.
        if not wait_for(lambda: _locked(lock), _LOCK_WAIT_S):
            raise EmbeddedServerError(
                f"another server is using the data folder {folder}: stop it, or choose another folder"
            )
        yield lock.fileno()


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
