"""Where the pipeline's data lies, and how a run of it is started."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext

import rmq_core
from console.errors import BadRequest
from console.models import Reconciliation
from rmq_core.model.text import NotText, check_name, shown

PACKAGES = Path(rmq_core.__file__).resolve().parents[1]
"""The folder in which our own packages lie: a checkout, or that of installed ones."""
LEDGER_SUFFIXES = (".csv", ".parquet")


def log_of(run: Reconciliation) -> Path:
    """What the run printed."""
    return Path(settings.PIPELINE_REPORTS) / str(run.pk) / "log.txt"


def report_of(run: Reconciliation) -> Path:
    """The folder of the run's report."""
    return Path(settings.PIPELINE_REPORTS) / str(run.pk)


def ledgers() -> list[str]:
    """The business ledgers that can be chosen, by name: files (or Parquet folders) an administrator has put there."""
    folder = Path(settings.PIPELINE_LEDGERS)
    if not folder.is_dir():
        return []
    return sorted(
        each.name
        for each in folder.iterdir()
        if each.suffix in LEDGER_SUFFIXES and each.name[0] != "." and _is_name(each.name)
    )


def _is_name(name: str) -> bool:
    """What is no text cannot be shown, nor asked for."""
    try:
        return bool(check_name(name))
    except NotText:
        return False


def ledger_path(name: str) -> Path:
    """Raises `BadRequest` for what is not one of `ledgers`."""
    if name not in ledgers():
        raise BadRequest(gettext("There is no ledger of the name “%(name)s”.") % {"name": name})
    return Path(settings.PIPELINE_LEDGERS) / name


def plain(words: str) -> str:
    """What a run said, for people: the names of files without the server's folders, which are nobody's business."""
    for folder in (settings.PIPELINE_LEDGERS, settings.PIPELINE_REPORTS, settings.PIPELINE_ARCHIVE, PACKAGES):
        for path in {str(folder), str(Path(folder).resolve())} - {"/", "."}:
            words = words.replace(f"file:{path}/", "").replace(f"{path}/", "").replace(path, Path(path).name)
    return shown(words)


@contextmanager
def held_ledger(run: Reconciliation) -> Iterator[Path | None]:
    """The run's ledger, held as it is now: Spark reads a file in pieces, and its owner may put a new one in its place.

    A folder, or one on another disk, is read where it is.
    """
    if not run.ledger:
        yield None
        return
    source = ledger_path(run.ledger)
    held = report_of(run) / source.name
    try:
        os.link(source, held)
    except OSError:
        yield source
        return
    try:
        yield held
    finally:
        held.unlink(missing_ok=True)


def command(run: Reconciliation, ledger: Path | None = None) -> list[str]:
    """The program of a run. The address of Redis goes by the environment, for it may hold a password."""
    program = [*settings.PIPELINE_COMMAND] or [sys.executable, "-u", "-m", "rmq_core.pipeline"]
    found = [*program, run.kind, "--namespace", settings.RMQ_NAMESPACE, "--archive", settings.PIPELINE_ARCHIVE]
    for topic in run.topics:
        found += ["--topic", topic]
    if run.kind == "reconcile":
        found += ["--reports", str(settings.PIPELINE_REPORTS), "--run", str(run.pk)]
        if run.ledger:
            found += ["--ledger", str(ledger or ledger_path(run.ledger))]
    return [*found, "--progress", "json"]


def environment() -> dict[str, str]:
    """What the program gets to know."""
    return {**os.environ, "REDIS_URL": settings.REDIS_URL, "PYTHONUNBUFFERED": "1"}
