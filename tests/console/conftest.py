"""A queue in a namespace of the test's own that the console is pointed at, and people of every role."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.db.backends.signals import connection_created
from django.test import Client
from django.utils import translation
from pytest_django.plugin import blocking_manager_key

from console.engine import AsyncEngine, new_async_engine
from console.snapshots.store import LiveKeys
from rmq_core import RMQ, FixedTimeMessage, Topic, TopicKind
from rmq_core.client.control import Control
from rmq_core.client.inspector import Inspector
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.protocol.scripts import Call, script
from tests.support.console_options import set_options
from tests.support.keys import remove_keys_of

FAR = 3_600_000
ROLES = ("Viewer", "Payload reader", "Operator", "Editor", "Admin")


def _let_readers_hold_up_nobody(connection: Any, **_: Any) -> None:
    """Threads share a database in memory, in which SQLite refuses at once who writes what another one reads; one in a
    file, as people have it, waits."""
    if connection.vendor == "sqlite" and connection.is_in_memory_db():
        connection.connection.execute("PRAGMA read_uncommitted = 1")


connection_created.connect(_let_readers_hold_up_nobody)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that empties the database puts back what migrations made, or those after it have no roles."""
    for item in items:
        marker = item.get_closest_marker("django_db")
        if marker and marker.kwargs.get("transaction") and not marker.kwargs.get("serialized_rollback"):
            raise pytest.UsageError(f"{item.nodeid}: django_db(transaction=True) needs serialized_rollback=True")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """What migrations made comes back after a test that emptied the database: the next may only roll back."""
    yield
    marker = item.get_closest_marker("django_db")
    if marker and marker.kwargs.get("transaction") and nextitem is not None:  # the last one's database is gone by now
        with item.config.stash[blocking_manager_key].unblock():
            connection.creation.deserialize_db_from_string(connection._test_serialized_contents)


class Queue:
    """A client of the test's namespace with the few things tests do with it."""

    def __init__(self, client: RMQ) -> None:
        self.client = client
        self.inspector = Inspector(client)
        self.control = Control(client)

    def topic(self, name: str = "orders", kind: TopicKind = TopicKind.FIXED_TIME, **options: Any) -> str:
        self.client.define(Topic(name, kind, **{"slots": 4, "backoff_ms": 0, "max_retries": 0, **options}))
        return name

    def delayed(self, key: str = "a", content: str = '{"n": 1}', topic: str = "orders", in_ms: int = FAR) -> str:
        due = self.inspector.now_ms() + in_ms
        return self.client.send(topic, FixedTimeMessage(content, due, key=key), allow_past=True).id

    def dead(self, key: str = "d", content: str = '{"n": 1}', topic: str = "orders", error: str = "KeyError") -> str:
        """A message that has really died: it was taken and failed."""
        self.client.send(topic, FixedTimeMessage(content, self.inspector.now_ms(), key=key), allow_past=True)
        (delivery,) = self.client.take(topic, timeout_ms=2000)
        self.client.nack(delivery, error=error, message=f"no tail number in {content}")
        return delivery.id

    def worker(self, name: str = "w1", **about: Any) -> str:
        """A worker that has reported itself, as the engine's do."""
        began_ms = self.inspector.now_ms() - 60_000
        known = {
            "host": "here", "pid": 7, "topics": ["orders"], "started_ms": began_ms, "threads": 2, "in_flight": 0,
            "done": 0, "failed": 0, "done_per_s": 0.0, "stuck": 0, "version": "1", "state": "running", "stale": 0,
            "session": "shared", "session_for_ms": 0, "weight": 1, "slots": {}, "versions": {},
        }  # fmt: skip
        args = [name, json.dumps({**known, **about}), 3_600_000]
        self.client.connection.run([Call(script("heartbeat"), [self.client.keyspace.workers], args)])
        return name

    def find(self, ident: str, topic: str = "orders") -> Any:
        views = self.inspector.find(topic, ident)
        return views[0] if views else None

    def ref(self, ident: str, topic: str = "orders") -> list[Any]:
        row = self.find(ident, topic).row
        return [row.slot, row.id]


@pytest.fixture(autouse=True)
def own_language() -> Iterator[None]:
    """A request leaves its reader's language switched on in the thread; the next test begins without."""
    yield
    translation.deactivate()


@pytest.fixture
def queue(settings: Any, redis_server: EmbeddedRedis, namespace: str) -> Iterator[Queue]:
    """The console works on this test's namespace; all its keys go with the test, they are the console's fixture."""
    set_options(settings, REDIS_URL=redis_server.url, CONSOLE_REDIS_URL=redis_server.url, NAMESPACE=namespace)
    with RMQ(redis_server.url, namespace) as client:
        yield Queue(client)
    from console.engine import engine

    engine().client.close()
    with redis_server.client() as raw:
        remove_keys_of(raw, namespace)


@pytest.fixture
async def own(queue: Queue) -> AsyncIterator[AsyncEngine]:
    """An engine as the keeper has one."""
    engine = new_async_engine()
    yield engine
    await engine.client.close()


@pytest.fixture
def keys(namespace: str) -> LiveKeys:
    """Where the keeper writes its frames."""
    return LiveKeys(namespace)


@pytest.fixture(scope="module")
def roles_come_back(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Tests with real transactions leave the tables empty; the next module needs the roles a migration made.

    They come back with the keys they had, or the next test that begins with the rows of the start would meet others.
    """
    yield
    with django_db_blocker.unblock():
        connection.creation.deserialize_db_from_string(connection._test_serialized_contents)


@pytest.fixture
def person(db: None) -> Callable[..., User]:
    """Makes a user with a role; staff, so that they may sign in."""

    def make(role: str | None = "Operator", name: str | None = None) -> User:
        user = User.objects.create_user(
            name or (role or "nobody").lower().replace(" ", "-"), password="pw", is_staff=True
        )
        if role:
            user.groups.add(Group.objects.get(name=role))
        return user

    return make


@pytest.fixture
def as_role(person: Callable[..., User]) -> Callable[..., Client]:
    """A browser in which somebody of that role is signed in."""

    def make(role: str | None = "Operator") -> Client:
        client = Client()
        client.force_login(person(role))
        return client

    return make
