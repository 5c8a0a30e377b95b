"""Listeners in Django's company: each call opens and closes database connections as a request does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from asgiref.sync import sync_to_async
from django.db import close_old_connections, reset_queries

from rmq_core.hooks.hook import Handling, Hook


class Connections(Hook):
    """A connection that is too old, or was lost in the call before, is not used again."""

    @contextmanager
    def handling(self, handling: Handling) -> Iterator[None]:
        """In the thread that runs the listener."""
        _begin()
        try:
            yield
        finally:
            close_old_connections()

    @asynccontextmanager
    async def handling_async(self, handling: Handling) -> AsyncIterator[None]:
        """In the thread in which Django's coroutines reach the database."""
        await sync_to_async(_begin)()
        try:
            yield
        finally:
            await sync_to_async(close_old_connections)()


def _begin() -> None:
    reset_queries()
    close_old_connections()
