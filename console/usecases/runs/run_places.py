"""Where the pipeline's data lies, and how a run of it is started."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from django.utils.translation import gettext

import rmq_core
from console.errors import BadRequest
from console.models import Reconciliation
from console.options import options
from rmq_core.model.text import NotText, check_name, shown

PACKAGES = Path(rmq_core.__file__).resolve().parents[1]
"""The folder in which our own packages lie: a checkout, or that of installed ones."""
_PROGRAM = (sys.executable, "-u", "-m", "rmq_core.pipeline")
NAMES = {"ids": "ids", "slot-bases": "slot_bases"}
"""Files of an erasure, and what is in them."""
LEDGER_SUFFIXES = (".csv", ".parquet")


def log_of(run: Reconciliation) -> Path:
    """What the run printed."""
    return Path(options().pipeline_reports) / str(run.pk) / "log.txt"


def report_of(run: Reconciliation) -> Path:
    """The folder of the run's report."""
    return Path(options().pipeline_reports) / str(run.pk)


def ledgers() -> list[str]:
    """The business ledgers that can be chosen, by name: files (or Parquet folders) an administrator has put there."""
    folder = Path(options().pipeline_ledgers)
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
    return Path(options().pipeline_ledgers) / name


def plain(words: str) -> str:
    """What a run said, for people: the names of files without the server's folders, which are nobody's business."""
    for folder in (options().pipeline_ledgers, options().pipeline_reports, options().pipeline_archive, PACKAGES):
        for path in {str(folder), str(Path(folder).resolve())} - {"/", "."}:
            words = words.replace(f"file:{path}/", "").replace(f"{path}/", "").replace(path, Path(path).name)
    return shown(words)


@contextmanager
def pinned_ledger(run: Reconciliation) -> Iterator[Path | None]:
    """The run's ledger, as it is now: Spark reads a file in pieces, and its owner may put a new one in its place.

    A folder, or one on another disk, is read where it is.
    """
    if not run.ledger:
        yield None
        return
    source = ledger_path(run.ledger)
    pinned = report_of(run) / source.name
    try:
        os.link(source, pinned)
    except OSError:
        yield source
        return
    try:
        yield pinned
    finally:
        pinned.unlink(missing_ok=True)


@contextmanager
def named(run: Reconciliation) -> Iterator[None]:
    """While the block runs, whose messages an erasure erases is in files: arguments are seen by others."""
    places = {report_of(run) / name: run.asked.get(key) or [] for name, key in NAMES.items() if run.kind == "erase"}
    try:
        for place, several in places.items():
            place.touch(mode=0o600)
            place.write_text("".join(f"{each}\n" for each in several), encoding="utf-8")
        yield
    finally:
        forget_named(run)


def forget_named(run: Reconciliation) -> None:
    """Removes these files, also what a worker that was killed has left."""
    for name in NAMES if run.kind == "erase" else ():
        (report_of(run) / name).unlink(missing_ok=True)


def arguments(run: Reconciliation, ledger: Path | None = None) -> list[str]:
    """What the program is to do. The address of Redis goes by the environment, for it may hold a password."""
    found = [run.kind, "--namespace", options().namespace, "--archive", options().pipeline_archive]
    for topic in run.topics:
        found += ["--topic", topic]
    if run.kind == "reconcile":
        found += ["--reports", str(options().pipeline_reports), "--run", str(run.pk)]
        if run.via != "schedule":  # whoever asks wants to know how it is now
            found.append("--anew")
        if run.asked.get("from_scratch"):
            found.append("--from-scratch")
        if run.ledger:
            found += ["--ledger", str(ledger or ledger_path(run.ledger))]
    if run.kind == "erase":
        found += ["--reports", str(options().pipeline_reports)]
        for name in NAMES:
            found += [f"--{name}", str(report_of(run) / name)]
        found.append(f"--reason={run.reason}")
    if run.asked.get("dry_run"):
        found.append("--dry-run")
    if into := run.asked.get("into"):
        found += ["--into", str(into)]
        if (at_ms := run.asked.get("at_ms")) is not None:
            found += ["--at", datetime.fromtimestamp(int(at_ms) / 1000, UTC).isoformat()]
    return [*found, "--progress", "json"]


def command(run: Reconciliation, ledger: Path | None = None) -> list[str]:
    """The program of one run."""
    return [*(options().pipeline_command or _PROGRAM), *arguments(run, ledger)]


def can_be_kept() -> bool:
    """Whether the program can do run after run; `RMQ_PIPELINE_COMMAND` may name anything."""
    return not options().pipeline_command


def serving() -> list[str]:
    """The program that does run after run."""
    return [*_PROGRAM, "serve", "--log", str(log_of_program())]


def log_of_program() -> Path:
    """What that one prints beside its runs."""
    return Path(options().pipeline_reports) / "program.log"


def environment() -> dict[str, str]:
    """What the program gets to know."""
    return {**os.environ, "RMQ_URL": options().redis_url, "PYTHONUNBUFFERED": "1"}
