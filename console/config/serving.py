"""What a server needs beyond Django: refusal of unsafe settings, and a sub-path that works for sockets."""

from __future__ import annotations

import resource
from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

Scope = dict[str, Any]
Application = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


def refuse_unsafe_settings() -> None:
    """Raise `ImproperlyConfigured` where serving would work but not be right."""
    if settings.SECRET_KEY_IS_TEMPORARY and not settings.DEBUG:
        raise ImproperlyConfigured(
            "RMQ_SECRET_KEY is not set. Set it to 50 or more random characters (the same for every process), "
            "or start with `manage.py up`, which keeps one in the data folder."
        )


def allow_many_connections(most: int = 65_536) -> None:
    """Each waiting poll and each live page is an open file; the usual limit of 1,024 is for programs with few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def under_sub_path(application: Application, sub_path: str) -> Application:
    """Serve below `sub_path` (such as /rmq), whether or not the proxy in front strips it from the path."""

    async def serve(scope: Scope, receive: Any, send: Any) -> None:
        if sub_path and scope["type"] in ("http", "websocket"):
            path = scope["path"]
            if path != sub_path and not path.startswith(f"{sub_path}/"):
                path = sub_path + path
            scope = {**scope, "path": path, "root_path": sub_path}
        await application(scope, receive, send)

    return serve
