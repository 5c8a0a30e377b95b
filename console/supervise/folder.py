"""The data folder: one supervisor at a time, secrets made once and readable by their owner only."""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path
from typing import IO


class FolderInUse(RuntimeError):
    """Another `manage.py up` runs in the folder; the text says which."""


class DataFolder:
    """What `up` keeps between runs, below `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._lock: IO[str] | None = None

    def lock(self) -> None:
        """Hold the folder until this process ends. Raises `FolderInUse`."""
        lock = (self.path / "up.lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "?"
            lock.close()
            raise FolderInUse(
                f"`manage.py up` already runs in {self.path} (process {holder}); stop it, or choose another folder with"
                " DATA_DIR"
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
        path = self.path / name
        if not path.exists():
            self.write(name, secrets.token_urlsafe(length))
        return path.read_text().strip()

    def write(self, name: str, text: str) -> None:
        """Keep a text, readable by its owner only."""
        path = self.path / name
        fresh = path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        fresh.touch(mode=0o600)
        fresh.write_text(text + "\n")
        fresh.replace(path)

    def read(self, name: str) -> str | None:
        path = self.path / name
        return path.read_text().strip() if path.is_file() else None
