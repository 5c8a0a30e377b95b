"""The database from a coroutine: in a thread whose connections are closed after the call, or kept for the next."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import connections

P = ParamSpec("P")
T = TypeVar("T")


async def with_database(act: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Call what uses the database."""

    def call() -> T:
        try:
            return act(*args, **options)
        finally:
            with contextlib.suppress(Exception):
                connections.close_all()

    return await sync_to_async(call, thread_sensitive=False)()


class DatabaseThread:
    """A thread that keeps its connections between calls, for what asks so often that opening them costs the most."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="database")

    async def call(self, act: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Call what uses the database; after an error the next call opens its connections again."""

        def call() -> T:
            try:
                return act(*args, **options)
            except Exception:
                connections.close_all()
                raise

        return await sync_to_async(call, thread_sensitive=False, executor=self._thread)()

    async def close(self) -> None:
        """Close the connections; a call that runs is waited for."""
        await self.call(connections.close_all)
        self._thread.shutdown(wait=False)
