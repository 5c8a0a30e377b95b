"""Consoles that look after one namespace share a database: whoever has another one is refused, and told why."""

from __future__ import annotations

import asyncio

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from console.errors import OtherConsole
from console.keeper.keeper import Keeper
from console.models import Installation
from console.models.installation import own_mark
from console.options import options
from console.snapshots.store import LiveKeys, read_text, write_text
from console.usecases.same_database import SAID_FOR_MS
from tests.console.conftest import Queue
from tests.support.waiting import wait_until_async

pytestmark = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("roles_come_back"),
]


def said(queue: Queue) -> str | None:
    return queue.client.run(read_text(LiveKeys(options().namespace).database))


def say(queue: Queue, mark: str) -> None:
    queue.client.run(write_text(LiveKeys(options().namespace).database, mark, SAID_FOR_MS))


async def kept_until_said(queue: Queue) -> None:
    stop = asyncio.Event()
    running = asyncio.create_task(Keeper().run(stop))
    try:
        await wait_until_async(lambda: said(queue) is not None, what="the keeper has said whose database it is")
    finally:
        stop.set()
        await running


def keeper_of_another_database() -> None:
    asyncio.run(asyncio.wait_for(Keeper().run(asyncio.Event()), 60))


def test_the_active_keeper_says_whose_the_namespace_is_and_another_one_of_its_database_follows(queue: Queue) -> None:
    asyncio.run(kept_until_said(queue))
    assert said(queue) == own_mark()
    asyncio.run(kept_until_said(queue))
    assert said(queue) == own_mark()
    assert Client().get("/api/v1/health/ready").json()["checks"]["keeper"] != "unknown"


@pytest.mark.parametrize("command", [["keeper"], ["jobs", "--burst"]])
def test_a_program_with_another_database_ends_with_a_sentence(queue: Queue, command: list[str]) -> None:
    say(queue, "somebody else's")
    with pytest.raises(CommandError, match="another console, which has a database of its own, looks after namespace"):
        call_command(*command)
    assert said(queue) == "somebody else's"


def test_a_keeper_that_stood_by_is_refused_when_its_turn_comes(queue: Queue) -> None:
    say(queue, "somebody else's")
    with pytest.raises(OtherConsole):
        keeper_of_another_database()
    assert said(queue) == "somebody else's"


def test_readiness_says_so(queue: Queue) -> None:
    own_mark()
    say(queue, "somebody else's")
    answer = Client().get("/api/v1/health/ready")
    assert answer.status_code == 503
    assert answer.json()["checks"]["keeper"] == "belongs to another console, which has another database"


def test_what_is_no_mark_counts_as_another(queue: Queue) -> None:
    """Never the same by accident; and a key of another type, which nobody of ours writes, says nothing."""
    say(queue, "")
    with pytest.raises(OtherConsole):
        keeper_of_another_database()
    queue.client.connection.client.delete(LiveKeys(options().namespace).database)
    queue.client.connection.client.rpush(LiveKeys(options().namespace).database, "odd")
    call_command("jobs", "--burst", verbosity=0)


def test_a_database_has_one_mark() -> None:
    assert own_mark() == own_mark()
    assert Installation.objects.count() == 1
    assert len(own_mark()) == 32
