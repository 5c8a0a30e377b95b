"""Listeners in Django's company: each call opens and closes database connections as a request does."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections, reset_queries

from rmq_core.worker import Listener


def with_connections(listener: Listener) -> Listener:
    """The same listener; a connection that is too old, or was lost in the call before, is not used again."""
    function = listener.function

    if listener.is_async:

        @functools.wraps(function)
        async def asynchronous(given: Any) -> Any:
            await sync_to_async(_begin)()
            try:
                return await function(given)
            finally:
                await sync_to_async(close_old_connections)()

        return dataclasses.replace(listener, function=asynchronous)

    @functools.wraps(function)
    def synchronous(given: Any) -> Any:
        _begin()
        try:
            return function(given)
        finally:
            close_old_connections()

    return dataclasses.replace(listener, function=synchronous)


def _begin() -> None:
    reset_queries()
    close_old_connections()
