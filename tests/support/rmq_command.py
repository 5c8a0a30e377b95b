"""The command `rmq` to its end, forked from a process that has imported most of it; see `tests.support.programs`.

That the program itself starts is seen where the installed one runs: in `test_rmq_command`, and by the documents.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# What Django's commands import, too, and what can be imported before there are settings.
import django.contrib.postgres.fields  # noqa: F401
import rq  # noqa: F401

from console.command import main
from tests.support.programs import Program

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120


def rmq(*arguments: str, umask: int | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    """What it says and how it ends, with nothing in its environment but that."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        given = {"arguments": arguments, "environ": {**kept, **environ}, "umask": umask, "streams": (out, err)}
        code = Program(_run, given).wait(PATIENCE_S)
        return subprocess.CompletedProcess(arguments, code, out.read_text(), err.read_text())


def manage(*arguments: str, umask: int | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    """A command of Django's."""
    return rmq("console", *arguments, umask=umask, **environ)


def _run(arguments: tuple[str, ...], environ: dict[str, str], umask: int | None, streams: tuple[Path, Path]) -> None:
    for number, path in enumerate(streams, 1):
        with path.open("wb") as file:
            os.dup2(file.fileno(), number)
    if umask is not None:
        os.umask(umask)
    os.environ.clear()
    os.environ |= environ
    os.chdir(ROOT)
    sys.argv = ["rmq", *arguments]
    sys.exit(main())
