"""The outbox: messages a second that one relay brings from a database (SQLite, PostgreSQL, MariaDB) into the queue.

The rows are there when the clock starts; each is leased, sent and marked, as durably as they do it by default.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from benchmarks.harness import NotMeasured, PrivateRedis, Report, alternate_many, at_least, repeats_for
from benchmarks.processes import output_of
from rmq_core import RMQ, Topic, TopicKind
from rmq_core.embedded.mariadb import EmbeddedMariaDB, mariadb_program
from rmq_core.embedded.postgres import EmbeddedPostgres, postgres_programs
from rmq_core.errors import EmbeddedServerError

ROOT = Path(__file__).parent.parent
SLOTS = 16
WITHIN_S = 600.0
BARS = {"SQLite": at_least(5_000), "PostgreSQL": at_least(15_000)}
RATE, CPU = "relayed", "CPU of the relay, a message"


def relayed(server: PrivateRedis, rows: int, database: str) -> Mapping[str, float]:
    """What one relay does, in a process of its own."""
    server.flush()
    with RMQ(server.url) as client:
        client.define(Topic("work", TopicKind.PRIORITY, slots=SLOTS))
    command = [sys.executable, "-m", "benchmarks.relaying", str(rows), server.url, database]
    read = json.loads(output_of(command, env=dict(os.environ), cwd=ROOT, timeout_s=WITHIN_S).splitlines()[-1])
    if (read["sent"], read["left"]) != (rows, 0):
        raise RuntimeError(f"{rows} rows were written; the relay says {read}")
    return {RATE: rows / read["seconds"], CPU: 1e6 * read["cpu_s"] / rows}


def on_sqlite(server: PrivateRedis, rows: int) -> Mapping[str, float]:
    with tempfile.TemporaryDirectory(prefix="rmq-bench-") as folder:
        return relayed(server, rows, f"sqlite:///{folder}/outbox.sqlite3")


def on_postgres(server: PrivateRedis, rows: int) -> Mapping[str, float]:
    """In a PostgreSQL of this round's own."""
    with EmbeddedPostgres() as database:
        return relayed(server, rows, database.url)


def on_mariadb(server: PrivateRedis, rows: int) -> Mapping[str, float]:
    """The same in a MariaDB."""
    with EmbeddedMariaDB() as database:
        return relayed(server, rows, database.url)


def main(quick: bool) -> None:
    rows = 20_000 if quick else 100_000
    databases: dict[str, Callable[[PrivateRedis, int], Mapping[str, float]]] = {"SQLite": on_sqlite}
    absent = ""
    try:
        postgres_programs()
        databases["PostgreSQL"] = on_postgres
        mariadb_program()
        databases["MariaDB"] = on_mariadb
    except EmbeddedServerError as error:
        absent = str(error)
    with PrivateRedis() as server:
        subjects = {name: partial(measure, server, rows) for name, measure in databases.items()}
        series = alternate_many(subjects, repeats_for(quick))
        report = Report("outbox", quick=quick, server=server, expects=[f"{name}: {RATE}" for name in databases])
        report.settings = {"messages": rows, "slots": SLOTS, "rows at once": 1_000}
        if "PostgreSQL" in databases:
            with EmbeddedPostgres() as database:
                report.versions = {"postgresql": database.version}
        if "MariaDB" in databases:
            report.versions |= {"mariadb": EmbeddedMariaDB().version}
        for name, figures in series.items():
            report.add(RATE, figures[RATE], "/s", subject=name, bar=BARS.get(name))
            report.add(CPU, figures[CPU], "µs", subject=name)
        report.finish()
    if absent:
        raise NotMeasured(f"the outbox of each database: {absent}")
