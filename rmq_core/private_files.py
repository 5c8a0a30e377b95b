"""Folders and files that nobody but their owner may look into."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path

from rmq_core.errors import EmbeddedServerError

FOLDER_MODE = 0o700
FILE_MODE = 0o600
OTHERS = 0o077
_NOT_ANYBODYS_FILES = frozenset({"lost+found"})


def private_folder(path: Path, *, ours: Collection[str] = (), owner: int | None = None) -> None:
    """Make ``path`` a folder for its owner alone, also when it is there already and open to others.

    ``ours``: names of what we keep in it. A folder that was open is closed to others, with what has those names; one
    that holds only other things is refused: it serves somebody else, who may rely on its modes. ``owner``: who else
    than this process may own it.

    Raises ``EmbeddedServerError`` where it belongs to somebody else, or everybody writes to it.
    """
    try:
        path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        status = path.stat()
        if status.st_uid not in {os.geteuid(), 0, owner}:
            raise EmbeddedServerError(
                f"the data folder {path} belongs to user {status.st_uid}, and this process runs as user"
                f" {os.geteuid()}: run as that one, choose a folder of your own, or give it away (chown)"
            )
        if not status.st_mode & OTHERS or status.st_uid != os.geteuid():
            return  # what root has given us to use (as containers do) is not ours to close
        held = {entry.name for entry in path.iterdir()} - _NOT_ANYBODYS_FILES
        if status.st_mode & stat.S_ISVTX or (held and not held.intersection(ours)):
            raise EmbeddedServerError(
                f"the data folder {path} holds what others use, and is open to them: choose a folder of its own"
            )
        for name in held.intersection(ours):
            _close(path / name)
        path.chmod(FOLDER_MODE)  # last: cut short before, it is done again
    except OSError as error:
        raise EmbeddedServerError(f"cannot use the data folder {path}: {error}") from error


def open_private(path: str, flags: int) -> int:
    """For ``open(…, opener=open_private)``: a new file is its owner's alone."""
    return os.open(path, flags, FILE_MODE)


def write_private(path: Path, text: str) -> None:
    """Put ``text`` in the place of the file at once; at no moment can others read it."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with open(fresh, "x", encoding="utf-8", opener=open_private) as file:
        file.write(text)
    fresh.replace(path)


def _close(path: Path) -> None:
    if path.is_symlink():
        return  # what it leads to is looked after by whoever made the link
    _take_from_others(path)
    if path.is_dir():
        for folder, folders, files in os.walk(path):
            for name in (*folders, *files):
                _take_from_others(Path(folder, name))


def _take_from_others(path: Path) -> None:
    try:
        status = path.lstat()
        if status.st_mode & OTHERS and status.st_uid == os.geteuid() and not stat.S_ISLNK(status.st_mode):
            path.chmod(stat.S_IMODE(status.st_mode) & ~OTHERS)
    except FileNotFoundError:
        pass  # servers and runs come and go with their files
