"""The record: transitions a second from the journals into the database, SQLite's and PostgreSQL's.

Messages are sent, taken and acknowledged, in batches and one by one (an entry of the journal for each change); then the
follower of the keeper writes it all down, as durably as both databases do it by default.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.harness import NotMeasured, PrivateRedis, Report, alternate, at_least, repeats_for
from benchmarks.processes import output_of
from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.postgres import EmbeddedPostgres, postgres_programs
from rmq_core.errors import EmbeddedServerError
from rmq_core.model.topic import Journal

ROOT = Path(__file__).parent.parent
PER_MESSAGE = 3  # sent, taken, acked
SLOTS = 16
BATCH = 500
WITHIN_S = 600.0
BARS = {"SQLite": at_least(5_000), "PostgreSQL": at_least(10_000)}


def fill(url: str, messages: int, at_once: int) -> None:
    """Let so many messages live through it, ``at_once`` in a call."""
    with RMQ(url) as client:
        client.define(Topic("work", TopicKind.PRIORITY, slots=SLOTS, journal=Journal.FULL, journal_max=0))
        made = (PriorityMessage(f"message-{i:08d}", priority=17 + i % 100) for i in range(messages))
        if at_once > 1:
            client.send_many("work", made)
        else:
            for message in made:
                client.send("work", message)
        left = messages
        while left:
            taken = client.take("work", at_once)
            client.ack(taken)
            left -= len(taken)


def rate(server: PrivateRedis, messages: int, at_once: int, database: str | None) -> float:
    """Transitions a second into a new database; ``database``: its URL, None for SQLite's file."""
    server.flush()
    fill(server.url, messages, at_once)
    with tempfile.TemporaryDirectory(prefix="rmq-bench-") as folder:
        environ = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "DJANGO_SETTINGS_MODULE": "console.config.settings",
            "RMQ_DATA_DIR": folder,
            "RMQ_REDIS_URL": server.url,
            "RMQ_HTTPS": "false",
            **({"RMQ_DATABASE_URL": database} if database else {}),
        }
        wanted = messages * PER_MESSAGE
        command = [sys.executable, "-m", "benchmarks.recording", str(wanted)]
        read = json.loads(output_of(command, env=environ, cwd=ROOT, timeout_s=WITHIN_S).splitlines()[-1])
    if (read["messages"], read["transitions"]) != (messages, wanted):
        raise RuntimeError(f"{messages} messages made {wanted} transitions; the record has {read}")
    return wanted / float(read["seconds"])


def on_postgres(server: PrivateRedis, messages: int, at_once: int) -> float:
    """The same into a PostgreSQL of this round's own."""
    with EmbeddedPostgres() as database:
        return rate(server, messages, at_once, database.url)


def main(quick: bool) -> None:
    messages = 10_000 if quick else 100_000
    databases: dict[str, Callable[[PrivateRedis, int, int], float]] = {"SQLite": partial(rate, database=None)}
    absent = ""
    try:
        postgres_programs()
        databases["PostgreSQL"] = on_postgres
    except EmbeddedServerError as error:
        absent = str(error)
    kinds = {f"in batches of {BATCH}": (messages, BATCH), "one by one": (messages // 4, 1)}
    with PrivateRedis() as server:
        series = alternate(
            {
                f"{database}, {kind}": partial(measure, server, *how)
                for database, measure in databases.items()
                for kind, how in kinds.items()
            },
            repeats_for(quick),
        )
        report = Report("record", quick=quick, server=server, expects=list(series))
        report.settings = {"messages": messages, "transitions per message": PER_MESSAGE, "slots": SLOTS}
        if "PostgreSQL" in databases:
            with EmbeddedPostgres() as database:
                report.versions = {"postgresql": database.version}
        for name, figures in series.items():
            report.add(name, figures, "/s", bar=BARS[name.partition(",")[0]])
        report.finish()
    if absent:
        raise NotMeasured(f"record into PostgreSQL: {absent}")
