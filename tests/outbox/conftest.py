"""An outbox in databases of its own, SQLite, PostgreSQL and MariaDB, beside a queue in the test's namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dj_database_url
import pytest
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from django.db.models import F

from console.outbox import clients
from console.outbox.models import OutboxMessage
from console.outbox.relay import Done, Relay
from rmq_core import RMQ, Topic, TopicKind
from rmq_core.embedded.mariadb import EmbeddedMariaDB, mariadb_program
from rmq_core.embedded.postgres import EmbeddedPostgres, postgres_programs
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import EmbeddedServerError
from tests.support.keys import remove_keys_of
from tests.support.missing import missing

try:
    import pymysql
except ImportError:  # `make venv` was not run since it is among what the tests need
    pymysql = None  # type: ignore[assignment]

LEASE_MS = 60_000
FAST_POSTGRES: dict[str, str | int] = {"fsync": "off", "synchronous_commit": "off", "shared_buffers": "32MB"}
FAST_MARIADB: dict[str, str | int] = {
    "innodb-flush-log-at-trx-commit": 0,
    "innodb-buffer-pool-size": "32M",
    "innodb-log-file-size": "16M",
    "innodb-lock-wait-timeout": 2,
    "max-allowed-packet": "1M",
    "character-set-server": "latin1",  # as it comes, but for Debian
}


def add_database(alias: str, url: str) -> None:
    """As if it stood in DATABASES, with the table of the outbox and one of a business."""
    connections.databases[alias] = {**connections.databases["default"], "OPTIONS": {}, **dj_database_url.parse(url)}
    connection = connections[alias]
    migrations = MigrationExecutor(connection)
    migrations.migrate(migrations.loader.graph.leaf_nodes("rmq_outbox"))
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE orders (number INTEGER)")


def remove_database(alias: str) -> None:
    connections[alias].close()
    del connections[alias]
    del connections.databases[alias]


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    try:
        postgres_programs()
    except EmbeddedServerError as error:
        missing(str(error))
    with EmbeddedPostgres(settings=FAST_POSTGRES) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[EmbeddedMariaDB]:
    """Its clock is one that is set back by an hour each autumn."""
    try:
        mariadb_program()
    except EmbeddedServerError as error:
        missing(str(error))
    if pymysql is None:
        missing("the driver for MariaDB is not installed (make venv)")
    pymysql.install_as_MySQLdb()
    with EmbeddedMariaDB(settings=FAST_MARIADB, time_zone="Europe/Berlin") as server:
        yield server


@pytest.fixture(scope="module", params=["sqlite", "postgres", "mariadb"])
def alias(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any
) -> Iterator[str]:
    """The name of a database that has an outbox."""
    with django_db_blocker.unblock():
        name = f"shop_{request.param}"
        if request.param != "sqlite":
            url = request.getfixturevalue(request.param).url
        else:
            url = f"sqlite:///{tmp_path_factory.mktemp('outbox')}/shop.sqlite3"
        add_database(name, url)
        yield name
        MigrationExecutor(connections[name]).migrate([("rmq_outbox", None)])
        with connections[name].schema_editor() as editor:
            editor.execute("DROP TABLE orders")
        remove_database(name)


@dataclass
class Shop:
    """A database with an outbox, its queue, and what tests do with them."""

    alias: str
    rmq: RMQ
    configure: Callable[..., None]

    @property
    def rows(self) -> Any:
        return OutboxMessage.objects.using(self.alias)

    def topic(self, name: str = "mail", **options: Any) -> str:
        self.rmq.define(Topic(name, TopicKind.PRIORITY, **{"slots": 4, "backoff_ms": 0, **options}))
        return name

    def relay(self) -> Relay:
        return Relay(self.alias, clients.patient())

    def step(self) -> Done:
        return self.relay().step()

    def taken(self, topic: str = "mail") -> list[str]:
        """What the queue holds, in the order in which it is handed out; it is gone then."""
        found = []
        while deliveries := self.rmq.take(topic, 100):
            self.rmq.ack(deliveries)
            found += [each.text for each in deliveries]
        return found

    def states(self) -> list[tuple[str, int]]:
        return list(self.rows.order_by("pk").values_list("state", "tries"))

    def let_pass(self, ms: int) -> None:
        """Time, for what waits for it."""
        waiting = self.rows.filter(state="waiting")
        waiting.filter(at_ms__gt=0).update(at_ms=F("at_ms") - ms)
        waiting.filter(leased_until_ms__gt=0).update(leased_until_ms=F("leased_until_ms") - ms)

    def orders(self) -> int:
        with connections[self.alias].cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM orders")
            return int(cursor.fetchone()[0])

    def order(self, number: int) -> None:
        """The business."""
        with connections[self.alias].cursor() as cursor:
            cursor.execute("INSERT INTO orders VALUES (%s)", [number])


@pytest.fixture
def shop(
    alias: str, settings: Any, redis_server: EmbeddedRedis, namespace: str, django_db_blocker: Any, tmp_path: Path
) -> Iterator[Shop]:
    """Without the fast path, unless a test configures it."""

    def configure(**changes: Any) -> None:
        settings.RMQ_OUTBOX = {**settings.RMQ_OUTBOX, **changes}

    settings.RMQ_OUTBOX = {
        "REDIS_URL": redis_server.url,
        "NAMESPACE": namespace,
        "DATABASES": [alias],
        "FAST_PATH": False,
        "LEASE_MS": LEASE_MS,
    }
    with django_db_blocker.unblock(), RMQ(redis_server.url, namespace) as rmq:
        shop = Shop(alias, rmq, configure)
        yield shop
        shop.rows.all().delete()
        with connections[alias].cursor() as cursor:
            cursor.execute("DELETE FROM orders")
        for client in (clients.patient, clients.quick):
            client().close()
    with redis_server.client() as raw:
        remove_keys_of(raw, namespace)
