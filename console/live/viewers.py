"""Who looks, and whether they still may: asked of the database for all sockets that want to know at that moment.

Five hundred sockets ask a hundred times a second. One by one, each in a thread with a connection of its own, that cost
a web process more than what it sends.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from channels.auth import get_user
from channels.db import database_sync_to_async
from django.conf import settings

from console.access import Permission, allowed, topics_of


@dataclass(frozen=True)
class Viewer:
    """Whom a session belongs to now, not when the socket was opened. `topics`: the patterns of what they may see."""

    signed_in: bool
    may_view: bool = False
    payload: bool = False
    topics: tuple[str, ...] = ()


class Viewers:
    """Of one event loop: while the database is asked for some, the questions of others are collected."""

    def __init__(self) -> None:
        self._waiting: dict[str | None, asyncio.Future[Viewer]] = {}
        self._asking: asyncio.Task[None] | None = None

    async def of(self, session_key: str | None) -> Viewer:
        """As it is after this was called. Raises `DatabaseError`."""
        found = self._waiting.get(session_key)
        if found is None:
            found = self._waiting[session_key] = asyncio.get_running_loop().create_future()
            found.add_done_callback(lambda each: each.cancelled() or each.exception())  # whoever asked may be gone
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())
        return await asyncio.shield(found)

    async def _ask(self) -> None:
        some: dict[str | None, asyncio.Future[Viewer]] = {}
        try:
            while self._waiting:
                some, self._waiting = self._waiting, {}
                try:
                    seen = await database_sync_to_async(_look_up)(list(some))
                except Exception as error:
                    for each in some.values():
                        each.set_exception(error)
                else:
                    for key, each in some.items():
                        each.set_result(seen[key])
        finally:
            self._asking = None
            for each in (*some.values(), *self._waiting.values()):
                each.cancel()  # at the end of the loop; what was answered stays answered
            self._waiting = {}


def _look_up(session_keys: Iterable[str | None]) -> dict[str | None, Viewer]:
    return {key: _viewer(key) for key in session_keys}


def _viewer(session_key: str | None) -> Viewer:
    sessions = importlib.import_module(settings.SESSION_ENGINE)
    user = _user_of({"session": sessions.SessionStore(session_key)})
    if not user.is_authenticated:
        return Viewer(signed_in=False)
    payload = allowed(user, Permission.READ_PAYLOAD)
    return Viewer(True, allowed(user, Permission.VIEW), payload, topics_of(user))


_user_of: Any = inspect.unwrap(get_user)
"""What Channels does in a thread, for a thread of ours."""
_by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Viewers] = weakref.WeakKeyDictionary()


def viewers() -> Viewers:
    """The running event loop's."""
    loop = asyncio.get_running_loop()
    if loop not in _by_loop:
        _by_loop[loop] = Viewers()
    return _by_loop[loop]
