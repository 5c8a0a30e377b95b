"""Files and folders that come to a place where nothing is, whole and durable, and take nobody else's away.

A job that stood still for long may go on while another one does its work: neither may undo what the other has made.
"""

from __future__ import annotations

import errno
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from rmq_core.pipeline.files import hadoop, local, make_folders, remove, rename, seen_here, sum_of, write_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def create(session: SparkSession, path: str, text: str) -> bool:
    """A small file that is not there yet, whole and durable; False where there is one: nothing of that is changed."""
    folder, _, name = path.rpartition("/")
    made = f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"  # another one may write its own just now
    try:
        write_text(session, made, text)
        return _put(session, made, path)
    finally:
        remove(session, made)


def move(session: SparkSession, made: str, path: str) -> bool:
    """A folder, whole and durable, to where nothing is; False where something is: that is not touched."""
    keep(session, made)
    return _put(session, made, path)


def keep(session: SparkSession, path: str) -> None:
    """Forces to the disk what is in a folder of this machine, before what it stands for is removed; over Spark Connect
    it is the server's."""
    if seen_here(session) and (here := local(session, path)) is not None:
        for inside, _, names in os.walk(here):
            for each in (*(Path(inside, name) for name in names), Path(inside)):
                _flush(each)
        _flush(here.parent)


def _put(session: SparkSession, made: str, path: str) -> bool:
    here, source = local(session, path), local(session, made)
    if here is not None and source is not None:
        make_folders(session, here.parent)
        if source.is_dir():
            try:
                source.rename(here)
            except OSError as error:
                if error.errno not in {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}:
                    raise
                return False
        elif not _linked(source, here):
            return False
        for folder in (here.parent, *here.parent.parents[:2]):  # a new day's, a new topic's
            _flush(folder)
        return True
    fs, where = hadoop(session, path)
    if fs.exists(where):
        return False
    fs.mkdirs(where.getParent())
    try:
        rename(session, made, path)
    except Exception as error:
        # Another one was quicker. Whatever else is there is half of ours: where folders are copied file by file.
        if "FileAlreadyExistsException" in str(error):
            return False
        raise
    return True


def _linked(source: Path, here: Path) -> bool:
    _flush(source)
    if not here.exists():
        sum_of(here).unlink(missing_ok=True)
    try:
        here.hardlink_to(source)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK} or here.exists():
            raise
        source.replace(here)  # a file system without links
    return True


def _flush(path: Path) -> None:
    """On the disk, and not only in this machine's memory: what is said to be kept is gone from Redis a moment later."""
    try:
        known = os.open(path, os.O_RDONLY)
    except PermissionError:  # somebody else's, as folders above ours may be
        return
    try:
        os.fsync(known)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # it cannot be asked for here
            raise
    finally:
        os.close(known)
