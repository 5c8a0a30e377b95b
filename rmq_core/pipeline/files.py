"""Small files and folders on whatever file system a path names, as Spark's driver sees it.

Those of this machine are looked at without Java: a run asks for hundreds. Over Spark Connect there is no Hadoop on this
side: paths are then taken as folders both sides see.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrameReader, SparkSession

_WHOLE_WHEN_CLOSED = "fs.capability.outputstream.abortable"
"""Of object stores: until a file is closed nothing is there, or the one before. To rename would remove that first."""
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://(?=/))?")


def java_path(session: SparkSession, path: str) -> Any:
    """Hadoop's object for a path."""
    jvm: Any = session._jvm
    return jvm.org.apache.hadoop.fs.Path(path)


def seen_here(session: SparkSession) -> bool:
    """Whether Spark's file systems can be reached from this process."""
    return hasattr(session, "_jsparkSession")


def check_reports(session: SparkSession, path: str) -> None:
    """Raises `PipelineError` for a path at which the small files of a report cannot be written from here."""
    local(session, path)


def local(session: SparkSession, path: str) -> Path | None:
    """A path of this machine's own file system; None: Hadoop has to be asked."""
    if not seen_here(session):
        if "://" in path.removeprefix("file://"):
            raise PipelineError(
                f"over Spark Connect reports go into a folder that this machine and the server share, not to {path};"
                " with SPARK_MASTER or spark-submit they can"
            )
        return Path(path.removeprefix("file://"))
    scheme = SCHEME.match(path)
    found = Path(path[scheme.end() :] if scheme else path)
    is_local = scheme[1].lower() == "file" if scheme else _is_local_without_scheme(session)
    if not is_local or found.is_absolute():
        return found if is_local else None
    return None if scheme else Path(_known(session)["folder"], found)


def literally(session: SparkSession) -> DataFrameReader:
    """Reads what is at paths, whatever letters they have: Spark would take ``[1]`` or ``?`` for a pattern, and find
    what is beside them."""
    return session.read.option("__globPaths__", "false")


def _is_local_without_scheme(session: SparkSession) -> bool:
    return _known(session)["fs"].startswith("file:")


def _known(session: SparkSession) -> dict[str, str]:
    """What Java is asked once: where a path without a scheme is, one that is relative, and who may read files."""
    context: Any = session.sparkContext
    known: dict[str, str] | None = context.__dict__.get("_rmq_hadoop")
    if known is None:
        jvm, settings = context._jvm, context._jsc.hadoopConfiguration()
        known = {"fs": str(settings.get("fs.defaultFS")), "umask": str(settings.get("fs.permissions.umask-mode"))}
        known["folder"] = str(jvm.java.lang.System.getProperty("user.dir"))
        context._rmq_hadoop = known
    return known


def _mode(session: SparkSession, mode: int) -> int:
    """What Hadoop makes it, whatever the umask of this process."""
    umask = _known(session)["umask"] if seen_here(session) else ""
    return mode & ~int(umask, 8) if umask.isdigit() else mode


def make_folders(session: SparkSession, folder: Path) -> None:
    """A folder of this machine, and those above it that are missing."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        with suppress(FileExistsError):
            each.mkdir(_mode(session, 0o777))


def hadoop(session: SparkSession, path: str) -> tuple[Any, Any]:
    """Its file system, and the path there."""
    found, inside = java_path(session, path), session._jsparkSession
    return found.getFileSystem(inside.sessionState().newHadoopConf()), found


def write_text(session: SparkSession, path: str, text: str) -> None:
    """A small file, whole or not at all."""
    if (here := local(session, path)) is not None:
        make_folders(session, here.parent)
        mode, part = _mode(session, 0o666), Path(f"{here}.part")
        try:
            with open(part, "w", encoding="utf-8", opener=lambda file, flags: os.open(file, flags, mode)) as file:
                file.write(text)
        except BaseException:  # the disk is full: what others have tried there must not fill it further
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise
    else:
        fs, where = hadoop(session, path)
        is_whole = fs.hasPathCapability(where, _WHOLE_WHEN_CLOSED)
        stream = fs.create(where if is_whole else java_path(session, path + ".part"), True)
        stream.write(bytearray(text.encode()))
        stream.close()
        if is_whole:
            return
    replace(session, path + ".part", path)


def replace(session: SparkSession, made: str, path: str) -> None:
    """Has a file take the place of another one, at once: whoever is killed leaves the one or the other."""
    here, source = local(session, path), local(session, made)
    if here is not None and source is not None:
        sum_of(here).unlink(missing_ok=True)
        source.replace(here)
        return
    rename(session, made, path, over=True)


def rename(session: SparkSession, made: str, path: str, *, over: bool = False) -> None:
    """On any file system; ``over``: whatever is there."""
    fs, where = hadoop(session, path)
    jvm: Any = session._jvm
    kinds = jvm.org.apache.hadoop.fs.Options.Rename
    gateway: Any = session.sparkContext._gateway
    options = gateway.new_array(kinds, 1)
    options[0] = kinds.OVERWRITE if over else kinds.NONE
    context = jvm.org.apache.hadoop.fs.FileContext.getFileContext(where.toUri(), fs.getConf())
    context.rename(java_path(session, made), where, options)


def sum_of(file: Path) -> Path:
    """What Hadoop leaves beside a file it has written; it would call another one in its place damaged."""
    return file.with_name(f".{file.name}.crc")


def read_text(session: SparkSession, path: str) -> str | None:
    """A small file; None where there is none."""
    if (here := local(session, path)) is not None:
        try:
            return here.read_bytes().decode(errors="replace")
        except FileNotFoundError:
            return None
    fs, where = hadoop(session, path)
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
    if (here := local(session, path)) is not None:
        names = [each.name for each in _entries(here) if each.is_file()]
        return [name for name in names if not (name.startswith(".") and name.endswith(".crc"))]
    fs, where = hadoop(session, path)
    if not fs.exists(where):
        return []
    return [status.getPath().getName() for status in fs.listStatus(where) if status.isFile()]


def folders(session: SparkSession, path: str) -> list[str]:
    """The names of the folders in a folder, those first that changed last."""
    if (here := local(session, path)) is not None:
        listed = []
        for each in _entries(here):
            with suppress(FileNotFoundError):
                if each.is_dir():
                    listed.append((-each.stat().st_mtime, each.name))
        return [name for _, name in sorted(listed)]
    fs, where = hadoop(session, path)
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
    if (here := local(session, path)) is not None:
        return [each.parent.name for each in here.glob(f"*/{name}")]
    fs, _ = hadoop(session, path)
    return [each for each in folders(session, path) if fs.exists(java_path(session, f"{path}/{each}/{name}"))]


def tree(session: SparkSession, path: str) -> list[tuple[str, int, int]]:
    """Every file below a folder: its path from there, its size, and when it was changed (ms). What others rename or
    remove meanwhile may be missing."""
    found = []
    if (here := local(session, path)) is not None:
        for folder, _, names in os.walk(here):
            for name in names:
                with suppress(FileNotFoundError):
                    status = (each := Path(folder, name)).stat()
                    found.append((str(each.relative_to(here)), status.st_size, status.st_mtime_ns // 1_000_000))
        return found
    fs, where = hadoop(session, path)
    if not fs.exists(where):
        return []
    begin, several = len(fs.makeQualified(where).toString()) + 1, fs.listFiles(where, True)
    while several.hasNext():
        each = several.next()
        found.append((str(each.getPath().toString())[begin:], int(each.getLen()), int(each.getModificationTime())))
    return found


def remove_whole(session: SparkSession, path: str) -> None:
    """A folder and all in it. Raises `PipelineError` where something of it stays."""
    remove(session, path)
    here = local(session, path)
    if here is not None:
        left = here.exists()
    else:
        fs, where = hadoop(session, path)
        left = fs.exists(where)
    if left:
        raise PipelineError(stays(path))


def stays(path: str) -> str:
    """What to say where something that must go does not."""
    return (
        f"{path} cannot be removed, and may hold what was erased: see to it that this user can, or remove it by hand."
        " The next archive job, reconciliation or erasure ends this one"
    )


def remove(session: SparkSession, path: str) -> None:
    """A file, or a folder and all in it."""
    if (here := local(session, path)) is None:
        fs, where = hadoop(session, path)
        fs.delete(where, True)
    elif here.is_dir() and not here.is_symlink():
        shutil.rmtree(here, ignore_errors=True)
    else:
        here.unlink(missing_ok=True)
        sum_of(here).unlink(missing_ok=True)
