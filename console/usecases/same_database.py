"""A namespace is looked after by consoles of one database: of two, each would record half, and take the other's jobs.

The active keeper says in Redis which database is its own, and goes on saying so; whoever has another one is refused.
"""

from __future__ import annotations

import contextlib

from console.engine import AsyncEngine, engine
from console.errors import OtherConsole
from console.models.installation import own_mark
from console.options import options
from console.snapshots.store import LiveKeys, read_text, write_text
from console.threads import with_database
from rmq_core.errors import RMQError

SAID_FOR_MS = 30_000
SENTENCE = (
    "another console, which has a database of its own, looks after namespace {namespace!r} of this Redis: each would"
    " record only half, and take the other's jobs. Give both one database (RMQ_DATABASE_URL), or this one a namespace"
    " of its own (RMQ_NAMESPACE); where the other one is gone, this one may start {seconds} seconds after it"
)


async def say_whose(active: AsyncEngine, keys: LiveKeys) -> None:
    """What the active keeper does again and again."""
    await active.client.run(write_text(keys.database, await with_database(own_mark), SAID_FOR_MS))


async def refuse_other_console(active: AsyncEngine, keys: LiveKeys) -> None:
    """Before a keeper becomes active. Raises `OtherConsole`."""
    said = None
    with contextlib.suppress(RMQError):
        said = await active.client.run(read_text(keys.database))
    if said is not None and said != await with_database(own_mark):
        raise OtherConsole(_sentence())


def refuse_from_the_start() -> None:
    """The same for a program that begins, which waits for a Redis that is away. Raises `OtherConsole`."""
    with contextlib.suppress(RMQError):
        if kept_by_another():
            raise OtherConsole(_sentence())


def kept_by_another() -> bool:
    """Whether a console of another database looks after the namespace. Raises `RMQError`."""
    said = engine().client.run(read_text(LiveKeys(options().namespace).database))
    return said is not None and said != own_mark()


def _sentence() -> str:
    return SENTENCE.format(namespace=options().namespace, seconds=SAID_FOR_MS // 1000)
