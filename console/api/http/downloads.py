"""Files that a browser saves and never shows or runs: a content, or any length a piece at a time."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import chain, islice

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header

from console.access import Forbidden, OutOfScope, Permission, topics_of
from console.api.http.callers import Caller, caller_of, still_there
from console.api.http.errors import ApiError

log = logging.getLogger("console.api")

RECHECK_S = 5.0
"""Whoever gets a long file is looked at again that often."""


def download(
    request: HttpRequest, pieces: Iterator[str], name: str, content_type: str, may: Callable[[Caller], object]
) -> StreamingHttpResponse:
    """Served as it is made by either kind of server, while `may` raises nothing of the caller as things are then.

    The first piece is made at once: what fails there is a refusal, and no file that is cut off.
    """
    pieces = _while_allowed(request, chain([*islice(pieces, 1)], pieces), name, may)
    # Django would collect a plain iterator in memory before it sends it through ASGI.
    found = _awaited(pieces) if isinstance(request, ASGIRequest) else pieces
    return StreamingHttpResponse(found, content_type=f"{content_type}; charset=utf-8", headers=_only_saved(name))


def content_as_file(content: bytes, name: str) -> HttpResponse:
    """Byte for byte."""
    return HttpResponse(content, content_type="application/octet-stream", headers=_only_saved(name))


def _only_saved(name: str) -> dict[str, str]:
    return {
        "Content-Disposition": str(content_disposition_header(True, name)),
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }


def _while_allowed(
    request: HttpRequest, pieces: Iterator[str], name: str, may: Callable[[Caller], object]
) -> Iterator[str]:
    """What was sent cannot be had back; the rest is not, and the file is seen to be cut off."""
    looked_at = time.monotonic()
    for piece in pieces:
        if time.monotonic() - looked_at >= RECHECK_S:
            try:
                _look_again(request, may)
            except (ApiError, Forbidden) as refusal:
                log.warning("the download of %s is cut off: %s", name, refusal)
                raise
            looked_at = time.monotonic()
        yield piece


def _look_again(request: HttpRequest, may: Callable[[Caller], object]) -> None:
    """Raises `ApiError`, `Forbidden`."""
    began, now = topics_of(caller_of(request).user), still_there(request)
    may(now)
    if topics_of(now.user) != began:  # what is still to come was chosen by those
        raise OutOfScope(Permission.VIEW, "the topics that the caller is for have changed")


async def _awaited(pieces: Iterator[str]) -> AsyncIterator[str]:
    def following() -> str | None:
        return next(pieces, None)

    while (piece := await sync_to_async(following)()) is not None:
        yield piece
