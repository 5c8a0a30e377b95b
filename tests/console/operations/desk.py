"""What the tests of operations share: a real queue of jobs that is worked off when a test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from rq import SimpleWorker

from console.access import Action
from console.models import Operation
from console.usecases import job_queue
from console.usecases.actor import Actor
from console.usecases.bulk import bulk
from console.usecases.bulk.bulk_requests import BulkRequest
from rmq_core import FixedTimeMessage
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.filters import MessageFilter
from tests.console.conftest import FAR, Queue


class Desk:
    """Somebody who requests bulk actions, and a job worker that does them in this process."""

    def __init__(self, queue: Queue, user: User) -> None:
        self.queue = queue
        self.user = user

    @property
    def actor(self) -> Actor:
        return Actor(self.user, "127.0.0.1")

    def request(self, action: Action, state: str = "", topic: str = "orders", **options: Any) -> BulkRequest:
        """A request for everything in a state that a filter (`text`, `slot`, …) matches."""
        fields = {name: options.pop(name) for name in ("text", "error", "fingerprint", "slot") if name in options}
        if state:
            options["filter"] = MessageFilter(state, **fields)  # type: ignore[arg-type]
        return BulkRequest(action, topic, **{"reason": "a test", **options})

    def start(self, action: Action, state: str = "", **options: Any) -> Operation:
        return bulk.start(self.actor, self.request(action, state, **options))

    def do(self, action: Action, state: str = "", **options: Any) -> Operation:
        """Start it, and see it to its end."""
        return self.finish(self.start(action, state, **options))

    def finish(self, operation: Operation) -> Operation:
        self.work()
        operation.refresh_from_db()
        return operation

    def work(self) -> None:
        """Work off every job that waits, and those that come of them."""
        jobs = job_queue.queue_of(job_queue.OPERATIONS)
        SimpleWorker([jobs], connection=jobs.connection).work(burst=True, logging_level="ERROR")

    def waiting_jobs(self) -> int:
        return job_queue.queue_of(job_queue.OPERATIONS).count

    def forget_jobs(self) -> None:
        """As if a job worker had taken them."""
        job_queue.queue_of(job_queue.OPERATIONS).empty()

    def delayed(self, count: int, prefix: str = "m", topic: str = "orders") -> None:
        """Messages that wait an hour and more, one of each second."""
        due = self.queue.inspector.now_ms() + FAR
        self.queue.client.send_many(
            topic,
            (FixedTimeMessage(f'{{"n": "{prefix}{n}"}}', due + 1000 * n, key=f"{prefix}{n}") for n in range(count)),
        )

    def dead(self, count: int, prefix: str = "d", topic: str = "orders", error: str = "KeyError") -> None:
        """Messages that have really died."""
        now = self.queue.inspector.now_ms()
        messages = (FixedTimeMessage(f"{prefix} {n}", now, key=f"{prefix}{n}") for n in range(count))
        self.queue.client.send_many(topic, messages, allow_past=True)
        left = count
        while left:
            taken = self.queue.client.take(topic, max=500, timeout_ms=2000)
            self.queue.client.nack(taken, error=error, message="no tail number")
            left -= len(taken)

    def count(self, state: str, topic: str = "orders", **fields: Any) -> int:
        return self.queue.inspector.preview(topic, MessageFilter(state, **fields)).count  # type: ignore[arg-type]


def text_of(answer: Any) -> str:
    """What an answer streams."""
    return b"".join(answer.streaming_content).decode()


@pytest.fixture
def desk(
    queue: Queue, person: Callable[..., User], redis_server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Desk]:
    """An administrator's desk over a timed topic of four slots."""
    queue.topic()
    yield Desk(queue, person("Admin", "chief"))
    with redis_server.client() as raw:
        for key in raw.scan_iter("rq:*"):
            raw.delete(key)
