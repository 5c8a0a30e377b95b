"""`manage.py tasks`: what it runs, and what it refuses."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from console.tasks.management.commands import tasks as command
from console.tasks.options import Options, read_options
from tests.docs.blocks import ROOT, blocks
from tests.tasks.conftest import Bench


@pytest.fixture
def consumed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The topics that the worker would consume."""
    topics: list[str] = []

    class Worker:
        def __init__(self, url: str, listeners: list[Any], **options: Any) -> None:
            topics.extend(listener.topic for listener in listeners)

        def run(self) -> None: ...

    monkeypatch.setattr(command, "Worker", Worker)
    return topics


@pytest.mark.parametrize(
    ("given", "queues"),
    [
        ([], ["default", "queue-1"]),
        (["--queue", "queue-1"], ["queue-1"]),
        (["--exclude-queue", "queue-1"], ["default"]),
        (["--queue", "default", "--queue", "queue-1", "--exclude-queue", "default"], ["queue-1"]),
    ],
)
def test_process_queues(bench: Bench, consumed: list[str], given: list[str], queues: list[str]) -> None:
    call_command("tasks", *given)
    assert consumed == [topic for queue in queues for topic in (f"tasks.{queue}", f"tasks-later.{queue}")]


def test_the_document_shows_commands_that_are_taken(bench: Bench, consumed: list[str]) -> None:
    (shown,) = [
        each.code for each in blocks(ROOT / "docs/how-to/django-tasks.md") if __file__.endswith(each.what or "-")
    ]
    for line in shown.splitlines():
        python, manage, name, *given = shlex.split(line.replace("mail", "queue-1"), comments=True)
        assert (python, manage) == ("python", "manage.py")
        call_command(name, *given)
    assert len(consumed) == 6


def test_process_all_queues_there_are(bench: Bench, consumed: list[str]) -> None:
    bench.configure([])
    bench.tasks.noop.using(queue_name="made-up").enqueue()
    call_command("tasks")
    assert consumed == ["tasks.made-up", "tasks-later.made-up"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--backend", "unknown"], "TASKS has no 'unknown'; it has default"),
        (["--queue", "unknown"], "there is no queue unknown; there are default, queue-1"),
        (["--exclude-queue", "unknown"], "there is no queue unknown"),
        (["--queue", "default", "--exclude-queue", "default"], "no queue is left"),
        (["--name", "a" * 65], "at most 64 characters"),
        (["--threads", "0"], "threads=0 must be a whole number"),
    ],
)
def test_what_is_refused(bench: Bench, given: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        call_command("tasks", *given)


def test_incorrect_backend(bench: Bench, settings: Any) -> None:
    settings.TASKS = {"default": {"BACKEND": f"{bench.package}.backends.dummy.DummyBackend"}}
    with pytest.raises(CommandError, match="not a backend of"):
        call_command("tasks")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "REDIS_URL: is not set"),
        ({"REDIS_URL": "http://localhost"}, "REDIS_URL: "),
        ({"QUICK": 1}, "QUICK: there is no such key"),
        ({"MAX_RETRIES": "3"}, "MAX_RETRIES: must be a whole number"),
        ({"MAX_RETRIES": 17}, "max_retries=17 must be"),
        ({"SLOTS": 3}, "slots=3 must be a power of two"),
        ({"PREFIX": "a.b"}, "PREFIX: must be a letter"),
        ({"DATABASE": "nowhere"}, "DATABASES has no 'nowhere'"),
        ({"RESULT_FOR_MS": 0}, "RESULT_FOR_MS: must be from 1000"),
        ({"NAMESPACE": "a b"}, "NAMESPACE: "),
    ],
)
def test_a_wrong_option_is_named(settings: Any, given: dict[str, Any], problem: str) -> None:
    settings.RMQ_CONSOLE = settings.RMQ_OUTBOX = {}
    with pytest.raises(ImproperlyConfigured, match=problem):
        read_options("default", {} if not given else {"REDIS_URL": "redis://localhost", **given})


def test_what_other_settings_say_is_known(settings: Any) -> None:
    settings.RMQ_CONSOLE = {"REDIS_URL": "redis://one", "NAMESPACE": "x"}
    assert read_options("default", {"NAMESPACE": "y"}) == Options(redis_url="redis://one", namespace="y")
