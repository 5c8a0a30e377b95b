"""The ACL of docs/how-to/redis-acl.md is enough for everything, and for nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import NoPermissionError

from console.config.environment import BASE_DIR
from rmq_core import RMQ, Control, FixedTimeMessage, Inspector, PriorityMessage, RangeMergeMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.filters import MessageFilter
from rmq_core.protocol.keys import Keyspace
from rmq_core.worker import Worker, listener
from tests.console.test_deployments import sample_and_read_back
from tests.console.test_job_queues import Console, jobs
from tests.support.servers import SERVER_KINDS, server_of

DOCUMENT = (BASE_DIR / "docs" / "how-to" / "redis-acl.md").read_text()
PASSWORD = "only-for-this-test"
OTHERS = ["other:topics", "other:{topic_1", "store{other:mail_1}", "rmq2:topics", "mail_1", "celery"]


def rules(user: str) -> list[str]:
    """Of a user the page names, with its password."""
    (found,) = re.findall(rf"^user {user} (.+)$", DOCUMENT, re.MULTILINE)
    return [PASSWORD.join((">", "")) if rule.startswith(">") else rule for rule in found.split()]


@pytest.fixture(params=SERVER_KINDS)
def guarded(request: pytest.FixtureRequest) -> Iterator[EmbeddedRedis]:
    """A server with the users of the page; at the end it has refused nothing but what the test expected."""
    with EmbeddedRedis(executable=server_of(request.param)) as server, server.client() as chief:
        more = rules("…") if request.param == "redis-6.2" else []
        for user in ("rmq-app", "rmq-console"):
            chief.execute_command("ACL SETUSER", user, *rules(user), *more)
        chief.execute_command("ACL LOG RESET")
        yield server
        assert [(each["object"], each["reason"]) for each in chief.acl_log()] == []


def url_of(server: EmbeddedRedis, user: str) -> str:
    return f"redis://{user}:{PASSWORD}@127.0.0.1:{server.port}/0"


def test_an_application_sends_takes_and_settles(guarded: EmbeddedRedis) -> None:
    topics = {
        "prices": (TopicKind.RANGE_MERGE, lambda n: RangeMergeMessage(f"p{n}", 1)),
        "mails": (TopicKind.PRIORITY, lambda n: PriorityMessage(f"m{n}", 20 + n)),
        "limited": (TopicKind.FIXED_TIME, lambda n: FixedTimeMessage(f"f{n}", 1_000 + n)),
    }
    with RMQ(url_of(guarded, "rmq-app")) as client:
        for name, (kind, message) in topics.items():
            limits: dict[str, Any] = {"max_backlog": 100, "rate_limit": 1_000} if name == "limited" else {}
            client.define(Topic(name, kind, slots=4, max_retries=0, backoff_ms=0, journal="full", **limits))
            options = {"allow_past": True} if kind is TopicKind.FIXED_TIME else {}
            client.send(name, message(0), **options)
            client.send_many(name, [message(n) for n in range(1, 9)], **options)
            taken = [client.take(name, timeout_ms=2_000)[0] for _ in range(2)]
            client.ack(taken[0])
            client.nack(taken[1:], error="KeyError")
            control, inspector = Control(client), Inspector(client)
            dead = inspector.preview(name, MessageFilter("dead"))  # type: ignore[arg-type]
            assert dead.count == len(taken) - 1
            control.drop(name, [taken[-1].id])
            control.restore(name, [taken[-1].id])
            control.requeue(name, [taken[-1].id])
            assert inspector.find(name, taken[-1].id)
            assert inspector.sample([name])[0].ledger_gap == 0


def test_an_applications_worker_consumes(guarded: EmbeddedRedis) -> None:
    url, seen = url_of(guarded, "rmq-app"), []
    topic = Topic("notes", TopicKind.RANGE_MERGE, slots=2)

    @listener(topic)
    def note(delivery: Any) -> None:
        seen.append(delivery.text)
        worker.stop()

    worker = Worker(url, [note], name="one")
    with RMQ(url) as client:
        client.define(topic)
        client.send("notes", RangeMergeMessage("hello", 1))
        worker.run()
    assert seen == ["hello"]


async def test_the_consoles_sampler_pages_and_channels_work(guarded: EmbeddedRedis, settings: Any) -> None:
    url = url_of(guarded, "rmq-console")
    await sample_and_read_back(settings, url, url, "rmq")


def test_the_consoles_jobs_work(guarded: EmbeddedRedis, tmp_path: Path) -> None:
    console = Console(url_of(guarded, "rmq-console"), tmp_path, "rmq")
    console.enqueue(1)
    with guarded.client() as chief:
        assert len(jobs(chief, "rmq:default")) == 1
        console.work()
        assert jobs(chief, "rmq:default") == []


@pytest.mark.parametrize("user", ["rmq-app", "rmq-console"])
def test_other_keys_channels_and_commands_are_refused(guarded: EmbeddedRedis, user: str) -> None:
    with Redis.from_url(url_of(guarded, user)) as client, guarded.client() as chief:
        for key in OTHERS:
            with pytest.raises(NoPermissionError):
                client.set(key, 1)
        with pytest.raises(NoPermissionError):
            client.publish("other:wake:mail", 1)
        for command in ("FLUSHALL", "CONFIG GET *", "ACL LIST", "SHUTDOWN", "KEYS *"):
            with pytest.raises(NoPermissionError):
                client.execute_command(*command.split())
        chief.execute_command("ACL LOG RESET")


def test_the_page_tells_the_shapes_that_keys_have() -> None:
    """In its table of shapes, and for both users; README leads to it."""
    shapes = re.findall(r"^\| `\S+` \| `(~\S+)` \|", DOCUMENT, re.MULTILINE)
    keyspace = Keyspace("rmq", spread=False)
    keys = [*keyspace.slot_keys("mail", 3), *keyspace.hints("mail"), *keyspace.limits("mail"), keyspace.topics]
    for user in ("rmq-app", "rmq-console"):
        assert [rule for rule in rules(user) if rule.startswith("~") and rule != "~rq:*"] == shapes
    unmatched = [key for key in keys if not any(fnmatchcase(key, shape[1:]) for shape in shapes)]
    assert unmatched == []
    for shape in shapes:  # each is needed
        others = [other for other in shapes if other != shape]
        assert [key for key in keys if not any(fnmatchcase(key, other[1:]) for other in others)]
    assert "](docs/how-to/redis-acl.md)" in (BASE_DIR / "README.md").read_text()
