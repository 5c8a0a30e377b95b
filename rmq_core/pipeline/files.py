"""Small files and folders on whatever file system a path names, as Spark's driver sees it.

Over Spark Connect there is no Hadoop on this side: paths are then taken as folders both sides see.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def java_path(session: SparkSession, path: str) -> Any:
    """Hadoop's object for a path."""
    jvm: Any = session._jvm
    return jvm.org.apache.hadoop.fs.Path(path)


def seen_here(session: SparkSession) -> bool:
    """Whether Spark's file systems can be reached from this process."""
    return hasattr(session, "_jsparkSession")


def _hadoop(session: SparkSession, path: str) -> tuple[Any, Any] | None:
    if not seen_here(session):
        return None
    found = java_path(session, path)
    return found.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()), found


def check_reports(session: SparkSession, path: str) -> None:
    """Raises `PipelineError` for a path at which the small files of a report cannot be written from here."""
    if _hadoop(session, path) is None:
        _local(path)


def _local(path: str) -> Path:
    if "://" in path.removeprefix("file://"):
        raise PipelineError(
            f"over Spark Connect reports go into a folder that this machine and the server share, not to {path};"
            " with SPARK_MASTER or spark-submit they can"
        )
    return Path(path.removeprefix("file://"))


def _here(fs: Any, where: Any) -> Path | None:
    """A path of this machine's own file system; None: it is elsewhere."""
    return Path(where.toUri().getPath()) if fs.getUri().getScheme() == "file" else None


def write_text(session: SparkSession, path: str, text: str) -> None:
    """A small file, whole or not at all."""
    hadoop = _hadoop(session, path)
    if hadoop is None:
        part = _local(path + ".part")
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.rename(_local(path))
        return
    fs, where = hadoop
    if (local := _here(fs, where)) is not None:
        local.parent.mkdir(parents=True, exist_ok=True)
        local.with_name(local.name + ".part").write_text(text, encoding="utf-8")
    else:
        stream = fs.create(java_path(session, path + ".part"), True)
        stream.write(bytearray(text.encode()))
        stream.close()
    replace(session, path + ".part", path)


def replace(session: SparkSession, made: str, path: str) -> None:
    """Has a file take the place of another one, at once: whoever is killed leaves the one or the other."""
    hadoop = _hadoop(session, path)
    assert hadoop is not None
    fs, where = hadoop
    source = java_path(session, made)
    if (local := _here(fs, where)) is not None:
        # The sum that Hadoop has left beside the older one would call the new one damaged.
        local.with_name(f".{local.name}.crc").unlink(missing_ok=True)
        Path(source.toUri().getPath()).replace(local)
        return
    jvm: Any = session._jvm
    rename = jvm.org.apache.hadoop.fs.Options.Rename
    gateway: Any = session.sparkContext._gateway
    over = gateway.new_array(rename, 1)
    over[0] = rename.OVERWRITE
    jvm.org.apache.hadoop.fs.FileContext.getFileContext(where.toUri(), fs.getConf()).rename(source, where, over)


def read_text(session: SparkSession, path: str) -> str | None:
    """A small file; None where there is none."""
    hadoop = _hadoop(session, path)
    if hadoop is None:
        return _local(path).read_text(encoding="utf-8") if _local(path).exists() else None
    fs, where = hadoop
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
    hadoop = _hadoop(session, path)
    if hadoop is None:
        return [each.name for each in _local(path).iterdir() if each.is_file()] if _local(path).exists() else []
    fs, where = hadoop
    if not fs.exists(where):
        return []
    return [status.getPath().getName() for status in fs.listStatus(where) if status.isFile()]


def folders(session: SparkSession, path: str) -> list[str]:
    """The names of the folders in a folder, those first that changed last."""
    hadoop = _hadoop(session, path)
    if hadoop is None:
        local = _local(path)
        listed = [each for each in local.iterdir() if each.is_dir()] if local.exists() else []
        return [each.name for each in sorted(listed, key=lambda each: each.stat().st_mtime, reverse=True)]
    fs, where = hadoop
    if not fs.exists(where):
        return []
    known = [status for status in fs.listStatus(where) if status.isDirectory()]
    known.sort(key=lambda status: int(status.getModificationTime()), reverse=True)
    return [str(status.getPath().getName()) for status in known]


def holding(session: SparkSession, path: str, name: str) -> list[str]:
    """The names of those folders in a folder in which something of that name is."""
    hadoop = _hadoop(session, path)
    local = _local(path) if hadoop is None else _here(*hadoop)
    if local is not None:
        return [each.parent.name for each in local.glob(f"*/{name}")]
    assert hadoop is not None
    fs, _ = hadoop
    return [each for each in folders(session, path) if fs.exists(java_path(session, f"{path}/{each}/{name}"))]


def tree(session: SparkSession, path: str) -> list[tuple[str, int, int]]:
    """Every file below a folder: its path from there, its size, and when it was changed (ms). What others rename or
    remove meanwhile may be missing."""
    hadoop = _hadoop(session, path)
    local = _local(path) if hadoop is None else _here(*hadoop)  # thousands of files, thousands of calls
    if local is not None:
        found = []
        for folder, _, names in os.walk(local):
            for name in names:
                try:
                    status = (each := Path(folder, name)).stat()
                except FileNotFoundError:
                    continue
                found.append((str(each.relative_to(local)), status.st_size, status.st_mtime_ns // 1_000_000))
        return found
    assert hadoop is not None
    fs, where = hadoop
    if not fs.exists(where):
        return []
    begin, several, found = len(fs.makeQualified(where).toString()) + 1, fs.listFiles(where, True), []
    while several.hasNext():
        each = several.next()
        found.append((str(each.getPath().toString())[begin:], int(each.getLen()), int(each.getModificationTime())))
    return found


def remove(session: SparkSession, path: str) -> None:
    """A file, or a folder and all in it."""
    hadoop = _hadoop(session, path)
    if hadoop is None and _local(path).is_file():
        _local(path).unlink(missing_ok=True)
    elif hadoop is None:
        shutil.rmtree(_local(path), ignore_errors=True)
    else:
        hadoop[0].delete(hadoop[1], True)
