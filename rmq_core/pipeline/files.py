"""Small files and folders on whatever file system a path names, as Spark's driver sees it.

Those of this machine are looked at without Java: a run asks for hundreds. Over Spark Connect there is no Hadoop on this
side: paths are then taken as folders both sides see.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://(?=/))?")


def java_path(session: SparkSession, path: str) -> Any:
    """Hadoop's object for a path."""
    jvm: Any = session._jvm
    return jvm.org.apache.hadoop.fs.Path(path)


def seen_here(session: SparkSession) -> bool:
    """Whether Spark's file systems can be reached from this process."""
    return hasattr(session, "_jsparkSession")


def check_reports(session: SparkSession, path: str) -> None:
    """Raises `PipelineError` for a path at which the small files of a report cannot be written from here."""
    _here(session, path)


def _here(session: SparkSession, path: str) -> Path | None:
    """A path of this machine's own file system; None: Hadoop has to be asked."""
    if not seen_here(session):
        if "://" in path.removeprefix("file://"):
            raise PipelineError(
                f"over Spark Connect reports go into a folder that this machine and the server share, not to {path};"
                " with SPARK_MASTER or spark-submit they can"
            )
        return Path(path.removeprefix("file://"))
    scheme = _SCHEME.match(path)
    found = Path(path[scheme.end() :] if scheme else path)
    is_local = scheme[1].lower() == "file" if scheme else _is_local_without_scheme(session)
    # A relative one begins where Java was started.
    return found if is_local and found.is_absolute() else None


def _is_local_without_scheme(session: SparkSession) -> bool:
    return _setting(session, "fs.defaultFS").startswith("file:")


def _setting(session: SparkSession, name: str) -> str:
    """Of Hadoop; asked for once."""
    context: Any = session.sparkContext
    known: dict[str, str] = context.__dict__.setdefault("_rmq_hadoop", {})
    if name not in known:
        known[name] = str(context._jsc.hadoopConfiguration().get(name))
    return known[name]


def _mode(session: SparkSession, mode: int) -> int:
    """What Hadoop makes it, whatever the umask of this process."""
    umask = _setting(session, "fs.permissions.umask-mode") if seen_here(session) else "000"
    return mode & ~int(umask, 8) if umask.isdigit() else mode


def _make_folders(session: SparkSession, folder: Path) -> None:
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        with suppress(FileExistsError):
            each.mkdir(_mode(session, 0o777))


def _hadoop(session: SparkSession, path: str) -> tuple[Any, Any]:
    found, inside = java_path(session, path), session._jsparkSession
    return found.getFileSystem(inside.sessionState().newHadoopConf()), found


def write_text(session: SparkSession, path: str, text: str) -> None:
    """A small file, whole or not at all."""
    if (here := _here(session, path)) is not None:
        _make_folders(session, here.parent)
        mode = _mode(session, 0o666)
        with open(f"{here}.part", "w", encoding="utf-8", opener=lambda file, flags: os.open(file, flags, mode)) as file:
            file.write(text)
    else:
        fs, _ = _hadoop(session, path)
        stream = fs.create(java_path(session, path + ".part"), True)
        stream.write(bytearray(text.encode()))
        stream.close()
    replace(session, path + ".part", path)


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
    if (here := _here(session, made)) is not None:
        for inside, _, names in os.walk(here):
            for each in (*(Path(inside, name) for name in names), Path(inside)):
                _flush(each)
    return _put(session, made, path)


def _put(session: SparkSession, made: str, path: str) -> bool:
    here, source = _here(session, path), _here(session, made)
    if here is not None and source is not None:
        _make_folders(session, here.parent)
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
    fs, where = _hadoop(session, path)
    fs.mkdirs(where.getParent())
    try:
        _rename(session, made, path)
    except Exception:
        if fs.exists(where):
            return False
        raise
    return True


def _linked(source: Path, here: Path) -> bool:
    _flush(source)
    if not here.exists():
        _sum_of(here).unlink(missing_ok=True)
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


def replace(session: SparkSession, made: str, path: str) -> None:
    """Has a file take the place of another one, at once: whoever is killed leaves the one or the other."""
    here, source = _here(session, path), _here(session, made)
    if here is not None and source is not None:
        _sum_of(here).unlink(missing_ok=True)
        source.replace(here)
        return
    _rename(session, made, path, over=True)


def _rename(session: SparkSession, made: str, path: str, *, over: bool = False) -> None:
    fs, where = _hadoop(session, path)
    jvm: Any = session._jvm
    rename = jvm.org.apache.hadoop.fs.Options.Rename
    gateway: Any = session.sparkContext._gateway
    options = gateway.new_array(rename, 1)
    options[0] = rename.OVERWRITE if over else rename.NONE
    context = jvm.org.apache.hadoop.fs.FileContext.getFileContext(where.toUri(), fs.getConf())
    context.rename(java_path(session, made), where, options)


def _sum_of(file: Path) -> Path:
    """What Hadoop leaves beside a file it has written; it would call another one in its place damaged."""
    return file.with_name(f".{file.name}.crc")


def read_text(session: SparkSession, path: str) -> str | None:
    """A small file; None where there is none."""
    if (here := _here(session, path)) is not None:
        try:
            return here.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
    fs, where = _hadoop(session, path)
    if not fs.exists(where):
        return None
    jvm: Any = session._jvm
    stream = fs.open(where)
    try:
        return str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    finally:
        stream.close()


def files(session: SparkSession, path: str) -> list[str]:
    """The names of the files in a folder; none where there is no such folder."""
    if (here := _here(session, path)) is not None:
        names = [each.name for each in _entries(here) if each.is_file()]
        return [name for name in names if not (name.startswith(".") and name.endswith(".crc"))]
    fs, where = _hadoop(session, path)
    if not fs.exists(where):
        return []
    return [status.getPath().getName() for status in fs.listStatus(where) if status.isFile()]


def folders(session: SparkSession, path: str) -> list[str]:
    """The names of the folders in a folder, those first that changed last."""
    if (here := _here(session, path)) is not None:
        listed = []
        for each in _entries(here):
            with suppress(FileNotFoundError):
                if each.is_dir():
                    listed.append((-each.stat().st_mtime, each.name))
        return [name for _, name in sorted(listed)]
    fs, where = _hadoop(session, path)
    if not fs.exists(where):
        return []
    known = [status for status in fs.listStatus(where) if status.isDirectory()]
    known.sort(key=lambda status: int(status.getModificationTime()), reverse=True)
    return [str(status.getPath().getName()) for status in known]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except FileNotFoundError:
        return []


def holding(session: SparkSession, path: str, name: str) -> list[str]:
    """The names of those folders in a folder in which something of that name is."""
    if (here := _here(session, path)) is not None:
        return [each.parent.name for each in here.glob(f"*/{name}")]
    fs, _ = _hadoop(session, path)
    return [each for each in folders(session, path) if fs.exists(java_path(session, f"{path}/{each}/{name}"))]


def tree(session: SparkSession, path: str) -> list[tuple[str, int, int]]:
    """Every file below a folder: its path from there, its size, and when it was changed (ms). What others rename or
    remove meanwhile may be missing."""
    found = []
    if (here := _here(session, path)) is not None:
        for folder, _, names in os.walk(here):
            for name in names:
                with suppress(FileNotFoundError):
                    status = (each := Path(folder, name)).stat()
                    found.append((str(each.relative_to(here)), status.st_size, status.st_mtime_ns // 1_000_000))
        return found
    fs, where = _hadoop(session, path)
    if not fs.exists(where):
        return []
    begin, several = len(fs.makeQualified(where).toString()) + 1, fs.listFiles(where, True)
    while several.hasNext():
        each = several.next()
        found.append((str(each.getPath().toString())[begin:], int(each.getLen()), int(each.getModificationTime())))
    return found


def remove(session: SparkSession, path: str) -> None:
    """A file, or a folder and all in it."""
    if (here := _here(session, path)) is None:
        fs, where = _hadoop(session, path)
        fs.delete(where, True)
    elif here.is_dir() and not here.is_symlink():
        shutil.rmtree(here, ignore_errors=True)
    else:
        here.unlink(missing_ok=True)
        _sum_of(here).unlink(missing_ok=True)
