"""The database from coroutines: a kept connection is used again, and given up after an error and at the end."""

from __future__ import annotations

import threading

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, connections

from console.threads import DatabaseThread, with_database

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads whose connections were closed (one to a database in memory stays open whatever is asked)."""
    threads: list[int] = []
    monkeypatch.setattr(connections, "close_all", lambda: threads.append(threading.get_ident()))
    return threads


def used() -> int:
    User.objects.count()
    return threading.get_ident()


def broken() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM no_such_table")


async def test_a_thread_of_its_own_keeps_its_connection(closed: list[int]) -> None:
    database = DatabaseThread()
    thread = await database.call(used)
    assert await database.call(used) == thread
    assert closed == []
    with pytest.raises(DatabaseError):
        await database.call(broken)
    assert closed == [thread], "after an error it is opened again"
    await database.call(used)
    await database.close()
    assert closed == [thread, thread]


async def test_one_call_leaves_no_connection(closed: list[int]) -> None:
    assert closed == [await with_database(used)]
