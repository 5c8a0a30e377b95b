"""A business ledger in a PostgreSQL of its own, by the driver that Debian has for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from rmq_core.embedded.postgres import EmbeddedPostgres, postgres_programs
from rmq_core.errors import EmbeddedServerError
from tests.support.missing import missing
from tests.support.spark import SUBMIT_ARGS

DRIVER = Path(os.environ.get("TEST_POSTGRES_JDBC", "/usr/share/java/postgresql.jar"))
HASTY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
RUN_S = 300
TABLES = """
CREATE TABLE flights (topic text, id bigint, expected text, content_sha256 bytea, at timestamptz);
INSERT INTO flights VALUES
  ('work', 9007199254740993, 'done', sha256('seven'), '2027-01-15 09:00:00+01'),
  ('work', 8, NULL, NULL, '2027-01-15 08:30:00Z');
CREATE TABLE "Odd" ("TOPIC" varchar(20), "Id" uuid, note text);
INSERT INTO "Odd" VALUES ('work', '0b8e8d44-2f1a-4e0b-9a52-6c3c1a0f7d11', 'x, "y" \n');
CREATE TABLE bytes (topic text, id bytea, expected char(12));
INSERT INTO bytes VALUES ('work', '\\x00ff', 'cancelled');
"""
READ = """
import json, sys
from rmq_core.errors import PipelineError
from rmq_core.pipeline.findings.ledger import read_ledger
from rmq_core.pipeline.session import open_session
session = open_session("ledger", settings={})
def told(table):
    try:
        read = read_ledger(session, sys.argv[1] + "#" + table, ["work"])
    except PipelineError as error:
        return str(error)
    rows = [[bytes(row.id).hex(), row.expected, list(getattr(row, "contents", []))] for row in read.rows.collect()]
    return [sorted(rows), read.since_ms, read.until_ms]
print(json.dumps([told(table) for table in sys.argv[2:]]))
session.stop()
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[EmbeddedPostgres]:
    try:
        postgres_programs()
    except EmbeddedServerError as error:
        missing(str(error))
    if not DRIVER.exists():
        missing(f"PostgreSQL's driver for Java, {DRIVER} (Debian and Ubuntu: the package libpostgresql-jdbc-java)")
    with EmbeddedPostgres(settings=HASTY) as server:
        yield server


def test_ledgers_in_postgres(postgres: EmbeddedPostgres) -> None:
    """Spark is told of a driver before it starts, so it is one of its own."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(TABLES)
    url = f"jdbc:postgresql://127.0.0.1:{postgres.port}/postgres?user=rmq&password=hush"
    odd = '(SELECT "TOPIC", "Id" FROM "Odd") AS odd'
    ran = subprocess.run(
        [sys.executable, "-c", READ, url, "flights", odd, "bytes", "nowhere"],
        env=os.environ | {"PYSPARK_SUBMIT_ARGS": f"--jars {DRIVER} {SUBMIT_ARGS}", "SPARK_MASTER": "local[1]"},
        capture_output=True, text=True, timeout=RUN_S, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-4_000:]
    flights, by_uuid, of_bytes, nowhere = json.loads(ran.stdout.splitlines()[-1])
    since, last = (datetime(2027, 1, 15, 8, minute, tzinfo=UTC).timestamp() * 1000 for minute in (0, 30))
    assert flights == [
        [[b"8".hex(), "sent", []], [b"9007199254740993".hex(), "done", [sha256(b"seven").hexdigest()]]],
        since,
        last + 1,
    ]
    assert by_uuid == [[[b"0b8e8d44-2f1a-4e0b-9a52-6c3c1a0f7d11".hex(), "sent", []]], None, None]
    assert of_bytes == [[["00ff", "cancelled", []]], None, None]
    assert "#nowhere cannot be read: " in nowhere and "hush" not in nowhere
