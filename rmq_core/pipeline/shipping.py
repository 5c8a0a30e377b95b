"""Brings this package to where Spark's Python runs: executors on other machines, and Spark Connect's server."""

from __future__ import annotations

import shutil
import tempfile
import weakref
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import rmq_core
from rmq_core.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZIP = "rmq_core.zip"
PROGRAM = "rmq_pipeline.py"
_PROGRAM_TEXT = """from rmq_core.pipeline.__main__ import main

raise SystemExit(main())
"""
_SKIPPED = frozenset({".pyc", ".pyo"})


def package(folder: Path) -> tuple[Path, Path]:
    """Writes what ``spark-submit`` takes into ``folder``: the package as a zip, and the program. Returns both."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / PROGRAM
        program.write_text(_PROGRAM_TEXT, encoding="utf-8")
        return write_zip(folder / ZIP), program
    except OSError as error:
        raise PipelineError(f"cannot write into {folder}: {error}") from error


def write_zip(target: Path) -> Path:
    """Writes ``rmq_core`` as a zip that Python imports from."""
    root = Path(rmq_core.__file__).parent
    if not root.is_dir():
        raise PipelineError(f"rmq_core was itself loaded from a zip ({root.parent}): give that one to --py-files")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix not in _SKIPPED:
                made.write(path, path.relative_to(root.parent))
    return target


def ship(session: SparkSession) -> None:
    """Gives the package to the session's executors, or to the Connect server, unless they have it by themselves."""
    if not hasattr(session, "_jsparkSession"):
        with tempfile.TemporaryDirectory(prefix="rmq-pipeline-") as folder:
            session.addArtifacts(str(write_zip(Path(folder) / ZIP)), pyfile=True)
        return
    context = session.sparkContext
    if (context.master or "").startswith("local"):
        return
    if not _was_given(context.getConf().get("spark.submit.pyFiles") or ""):
        kept = tempfile.TemporaryDirectory(prefix="rmq-pipeline-")
        weakref.finalize(session, kept.cleanup)  # executors fetch it as long as the session lives
        context.addPyFile(str(write_zip(Path(kept.name) / ZIP)))
    _for_streams()


def _was_given(py_files: str) -> bool:
    return any(each.rpartition("/")[2].startswith("rmq_core") for each in py_files.split(","))


def _for_streams() -> None:
    """Spark's driver looks for the Python files of a streaming source in a folder that it never fills."""
    from pyspark import SparkFiles

    root = Path(SparkFiles.getRootDirectory())
    folder = root / "streaming_job"
    folder.mkdir(exist_ok=True)
    for path in [*root.glob("*.zip"), *root.glob("*.egg"), *root.glob("*.py")]:
        shutil.copyfile(path, folder / path.name)
