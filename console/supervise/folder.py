"""The data folder: one supervisor at a time, secrets made once and readable by their owner only."""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path
from typing import IO

from rmq_core.private_files import open_private, write_private


class FolderInUse(RuntimeError):
    """Another `up` runs in the folder; the text says which."""


class DataFolder:
    """What `up` keeps between runs, below `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path  # closed to others by the settings
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock: IO[str] | None = None

    def lock(self) -> None:
        """Hold the folder until this process ends. Raises `FolderInUse`."""
        lock = open(self.path / "up.lock", "a+", opener=open_private)  # noqa: SIM115 (open is what holds it)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "?"
            lock.close()
            raise FolderInUse(
                f"`up` already runs in {self.path} (process {holder}); stop it, or choose another folder with"
                " RMQ_DATA_DIR"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock

    def unlock(self) -> None:
        if self._lock:
            self._lock.close()

    def secret(self, name: str, length: int) -> str:
        """A random text that is made once and kept."""
        if not (kept := self.read(name)):  # a full disk may have left it empty
            kept = secrets.token_urlsafe(length)
            self.write(name, kept)
        return kept

    def write(self, name: str, text: str) -> None:
        """Keep a text, readable by its owner only."""
        write_private(self.path / name, text + "\n")

    def read(self, name: str) -> str | None:
        path = self.path / name
        return path.read_text().strip() if path.is_file() else None
