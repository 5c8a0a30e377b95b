"""Tests that run again on PostgreSQL, in a process of their own: it refuses what SQLite takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rmq_core.embedded.postgres import EmbeddedPostgres, postgres_programs
from rmq_core.errors import EmbeddedServerError
from tests.support.missing import missing

ROOT = Path(__file__).parent.parent.parent
HASTY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def pass_on_postgres(*tests: Path | str, within_s: float) -> None:
    """Those tests pass there, and none is skipped."""
    try:
        postgres_programs()
    except EmbeddedServerError as error:
        missing(str(error))
    # Of this run the other one must not know: neither what distributes it nor what it is told to do.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    with EmbeddedPostgres(settings=HASTY) as server:
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
            env=environ | {"TEST_DATABASE_URL": server.url},
            cwd=ROOT, capture_output=True, text=True, timeout=within_s, check=False,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-6_000:] + ran.stderr[-2_000:]
    assert " passed" in ran.stdout and "skipped" not in ran.stdout
