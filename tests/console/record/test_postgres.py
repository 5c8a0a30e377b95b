"""The same tests of the record, of how the history is written, and of what nobody should send, again, on PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rmq_core.embedded.postgres import EmbeddedPostgres, postgres_programs
from rmq_core.errors import EmbeddedServerError
from tests.support.missing import missing

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
HASTY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
RUN_S = 200


def test_the_record_on_postgres() -> None:
    try:
        postgres_programs()
    except EmbeddedServerError as error:
        missing(str(error))
    tests = [HERE / name for name in ("test_intake.py", "test_follow.py", "test_reading.py")]
    tests.append(HERE.parent / "history" / "test_writing.py")
    tests.append(HERE.parent / "test_hostile_admin.py")
    erasing = HERE.parent / "reconciliation" / "test_erasing.py"
    tests.append(Path(f"{erasing}::test_what_other_rows_of_the_record_say_of_it_goes_too"))
    # Of this run the other one must not know: neither what distributes it nor what it is told to do.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    with EmbeddedPostgres(settings=HASTY) as server:
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
            env=environ | {"TEST_DATABASE_URL": server.url},
            cwd=ROOT, capture_output=True, text=True, timeout=RUN_S, check=False,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-6_000:] + ran.stderr[-2_000:]
    assert " passed" in ran.stdout and "skipped" not in ran.stdout
