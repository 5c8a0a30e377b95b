"""The folder a server keeps its data in: given, or private and temporary."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
from pathlib import Path

from rmq_core.errors import EmbeddedServerError
from rmq_core.private_files import private_folder, write_private

_OURS = (
    *("server.log", "lock", "password", "written_by"),
    *("redis.conf", "redis.pid", "redis.sock", "nodes.conf", "dump.rdb", "appendonly.aof", "appendonlydir"),
    *("zoo.cfg", "data"),
)


class DataFolder:
    """``path`` exists from construction on, for its owner alone; a temporary one (``given`` is None) goes with this
    object. ``owner``: the user the server runs as, where that is another one.
    """

    def __init__(self, given: Path | str | None, prefix: str, *, owner: int | None = None) -> None:
        try:
            if given is None:
                self.path = Path(tempfile.mkdtemp(prefix=f"rmq-{prefix}-"))
                self._remove = weakref.finalize(self, _remove, self.path, os.getpid())
            else:
                self.path = Path(given).absolute()
                private_folder(self.path, ours=_OURS, owner=owner)
        except OSError as error:
            raise EmbeddedServerError(f"cannot use the data folder {given}: {error}") from error
        self.temporary = given is None

    def secret(self, name: str, given: str | None = None) -> str:
        """``given``, or else a random text that was made once and is kept in the file ``name``."""
        if given is not None:
            return given
        file = self.path / name
        kept = file.read_text().strip() if file.is_file() else ""
        if not kept:  # a full disk may have left it empty
            kept = secrets.token_urlsafe(32)
            write_private(file, kept + "\n")
        return kept

    def discard(self) -> None:
        """Remove it if it is temporary."""
        if self.temporary:
            self._remove()


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:  # a fork of the owner must leave it alone
        shutil.rmtree(path, ignore_errors=True)
