"""Tasks in a project that has nothing else of the console, on SQLite and PostgreSQL, with a worker of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ
from rmq_core.embedded.redis import EmbeddedRedis
from tests.outbox.conftest import postgres  # noqa: F401 - a fixture
from tests.support.keys import remove_keys_of
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]


class Project:
    """`manage.py` and programs of it."""

    def __init__(self, database: str, redis_url: str, namespace: str) -> None:
        self.environ = {
            **{name: value for name, value in os.environ.items() if name in ("PATH", "HOME")},
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "tests.tasks.project.settings",
            "SHOP_DATABASE": database,
            "SHOP_REDIS": redis_url,
            "SHOP_NAMESPACE": namespace,
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        options: Any = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 200}
        return subprocess.run(
            [sys.executable, "-W", "error", "-m", *arguments], env=self.environ, check=False, **options
        )

    def worker(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "django", "tasks", *arguments], env=self.environ, cwd=ROOT)


@pytest.fixture(params=["sqlite", "postgres"])
def project(
    request: pytest.FixtureRequest, tmp_path: Path, redis_server: EmbeddedRedis, namespace: str
) -> Iterator[Project]:
    url = f"sqlite:///{tmp_path}/shop.sqlite3"
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").url
    yield Project(url, redis_server.url, namespace)
    with redis_server.client() as raw:
        remove_keys_of(raw, namespace)


def test_an_evening_of_a_shop(project: Project, redis_server: EmbeddedRedis, namespace: str) -> None:
    migrated = project.run("django", "migrate", "--run-syncdb", "-v0")
    assert migrated.returncode == 0, migrated.stderr
    with project.worker("--name", "ann") as worker, RMQ(redis_server.url, namespace) as rmq:
        try:
            alive = rmq.keyspace.workers
            wait_until(lambda: rmq.connection.client.hexists(alive, "ann"), timeout_s=60, what="the worker")
            ran = project.run("tests.tasks.project.evening", str(worker.pid))
            assert ran.returncode == 0, ran.stdout + ran.stderr
            assert ran.stdout.endswith("a fine evening 1\n")
            assert worker.wait(30) == -signal.SIGKILL
        finally:
            worker.kill()
