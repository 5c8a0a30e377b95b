"""The database from a coroutine: in a thread of its own, whose connections are closed after it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
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
