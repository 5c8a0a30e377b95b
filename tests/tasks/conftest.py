"""A backend of each package that is here, on a queue of the test's own, whose worker runs step by step in the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from console.tasks import clients
from console.tasks.running import Runner
from rmq_core import RMQ, Topic
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.testing import Drained, TestQueue

PACKAGES = {"django.tasks": "django", "django_tasks": "backport"}
INSTALLED = [package for package in PACKAGES if find_spec(package) is not None]


@dataclass
class Bench:
    """The project's tasks, and what the queue has of them."""

    package: str
    queue: TestQueue
    configure: Callable[..., None]

    @property
    def tasks(self) -> Any:
        """The module with the tasks."""
        return import_module(f"tests.tasks.of_{PACKAGES[self.package]}")

    @property
    def backend(self) -> Any:
        return import_module(self.package).task_backends["default"]

    @property
    def framework(self) -> Any:
        return self.backend.framework

    @property
    def rmq(self) -> RMQ:
        return self.queue.rmq

    def run(self, queue: str = "default", worker: str = "ann", most: int = 100) -> Drained:
        """Runs what is ready, as a worker of that name does: first what has waited for its time."""
        run, forward = Runner(self.backend, queue, worker).listeners()
        self.queue.drain(forward)
        return self.queue.drain(run, at_most=most)

    def topic(self, queue: str = "default") -> Topic:
        return self.rmq.topic(f"tasks.{queue}")

    def ids(self, topic: str, state: Any = "ready") -> list[str]:
        return [row.id for row in self.queue.inspector.messages(topic, state).rows]


@pytest.fixture(params=INSTALLED)
def bench(request: pytest.FixtureRequest, settings: Any, redis_server: EmbeddedRedis) -> Iterator[Bench]:
    package = request.param
    kind = PACKAGES[package]
    with TestQueue(redis_server.url) as queue:
        own = {"REDIS_URL": redis_server.url, "NAMESPACE": queue.rmq.keyspace.namespace, "BACKOFF_MS": 0}

        def configure(queues: list[str] | None = None, **changes: Any) -> None:
            settings.TASKS = {
                "default": {
                    "BACKEND": f"console.tasks.backends.{kind}.RMQBackend",
                    "QUEUES": ["default", "queue-1"] if queues is None else queues,
                    "OPTIONS": {**own, **changes},
                }
            }

        settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "console.tasks"]
        configure()
        yield Bench(package, queue, configure)
        clients.client(own["REDIS_URL"], own["NAMESPACE"]).close()
        clients.client.cache_clear()
