"""Job queues carry the namespace: nobody else's worker takes our jobs, and ours takes nobody's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from redis import Redis
from rq import Queue, SimpleWorker
from rq.job import Job
from rq.suspension import suspend

from console.config.environment import BASE_DIR
from console.usecases.job_queue import OPERATIONS, RUNS, queue_of
from rmq_core.embedded.redis import EmbeddedRedis
from tests.support.rmq_command import manage

ENQUEUE = "from console.usecases.job_queue import enqueue_operation; enqueue_operation('{}')"
OPERATION = "00000000-0000-4000-8000-00000000000{}"


class Console:
    """An installation in a namespace of its own, as processes see it."""

    def __init__(self, url: str, folder: Path, namespace: str) -> None:
        self._environ = {
            **{name: os.environ[name] for name in ("PATH",)},
            **{"DJANGO_SETTINGS_MODULE": "console.config.settings", "PYTHONPATH": str(BASE_DIR)},
            **{"RMQ_REDIS_URL": url, "RMQ_DATA_DIR": str(folder / namespace), "RMQ_NAMESPACE": namespace},
        }
        self.manage("migrate", "-v0")

    def manage(self, *arguments: str) -> str:
        ran = manage(*arguments, **self._environ)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout + ran.stderr

    def enqueue(self, number: int) -> None:
        self.manage("shell", "-v0", "-c", ENQUEUE.format(OPERATION.format(number)))

    def work(self) -> None:
        self.manage("jobs", "default", "pipeline", "--burst", "-v0")


def jobs(client: Redis, queue: str) -> list[str]:
    return Queue(queue, connection=client).get_job_ids()


def test_two_consoles_and_an_outsider_share_a_redis_and_take_only_their_own(tmp_path: Path) -> None:
    with EmbeddedRedis() as server, Redis.from_url(server.url) as client:
        ours, theirs = Console(server.url, tmp_path, "ours"), Console(server.url, tmp_path, "theirs")
        strange = Queue("default", connection=client).enqueue("tests.nowhere.to_be_found")
        ours.enqueue(1)
        theirs.enqueue(2)
        # Each of them works off all that it sees, in an order that would let it take the others'.
        theirs.work()
        assert (len(jobs(client, "ours:default")), jobs(client, "theirs:default")) == (1, [])
        assert jobs(client, "default") == [strange.id], "an outsider's job waits for the outsider"
        (mine,) = jobs(client, "ours:default")
        SimpleWorker([Queue("default", connection=client)], connection=client).work(
            burst=True, logging_level="CRITICAL"
        )
        assert Job.fetch(mine, connection=client).is_queued
        suspend(client)  # the outsider's `rq suspend`, which RQ means for every worker of this Redis
        ours.work()
        assert jobs(client, "ours:default") == []


def test_a_queue_that_is_not_ours_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    from django.core.management import CommandError, call_command

    with pytest.raises(CommandError, match="there is no job queue mail: there are default and pipeline"):
        call_command("jobs", "mail")
    assert [queue_of(name).name for name in (OPERATIONS, RUNS)] == ["rmq:default", "rmq:pipeline"]
