"""A disk that is small enough to be full."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A file system of its own; ``path``: where it is."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill_up(self) -> None:
        """Not a byte more fits."""
        with self._filler.open("ab", buffering=0) as filler:
            for size in (65_536, 512, 1):
                try:
                    while True:
                        filler.write(b"\0" * size)
                except OSError:
                    continue

    def make_room(self) -> None:
        """As before it was filled up."""
        self._filler.unlink()


@contextmanager
def small_disk(megabytes: int) -> Iterator[SmallDisk]:
    """Skips where this user may not mount one.

    Not in the test's folder: pytest removes those of former runs, and fails at one that a killed run left mounted.
    """
    path = Path(tempfile.mkdtemp(prefix="small-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700,uid={os.getuid()}", "tmpfs", str(path)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        path.rmdir()
        pytest.skip("no disk of a test's own can be mounted here")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
        path.rmdir()


@contextmanager
def held(file: Path) -> Iterator[None]:
    """A file that cannot be removed, as one of another user's. Skips where this user may not mount anything."""
    try:
        subprocess.run(["mount", "--bind", str(file), str(file)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no file can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(file)], check=True)
