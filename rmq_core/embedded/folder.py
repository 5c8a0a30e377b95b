"""The folder a server keeps its data in: given, or private and temporary."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path

from rmq_core.errors import EmbeddedServerError


class DataFolder:
    """``path`` exists from construction on; a temporary one (``given`` is None) goes with this object."""

    def __init__(self, given: Path | str | None, prefix: str) -> None:
        try:
            if given is None:
                self.path = Path(tempfile.mkdtemp(prefix=f"rmq-{prefix}-"))
                self._remove = weakref.finalize(self, _remove, self.path, os.getpid())
            else:
                self.path = Path(given).absolute()
                self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EmbeddedServerError(f"cannot use the data folder {given}: {error}") from error
        self.temporary = given is None

    def discard(self) -> None:
        """Remove it if it is temporary."""
        if self.temporary:
            self._remove()


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:  # a fork of the owner must leave it alone
        shutil.rmtree(path, ignore_errors=True)
