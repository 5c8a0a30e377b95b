"""Downloads of any length, a piece at a time, served as they are made by either kind of server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.http import content_disposition_header


def download(request: HttpRequest, pieces: Iterator[str], name: str, content_type: str) -> StreamingHttpResponse:
    """A file that a browser saves and never shows or runs."""
    # Django would collect a plain iterator in memory before it sends it through ASGI.
    found = _awaited(pieces) if isinstance(request, ASGIRequest) else pieces
    response = StreamingHttpResponse(found, content_type=f"{content_type}; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(True, name)
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response


async def _awaited(pieces: Iterator[str]) -> AsyncIterator[str]:
    def following() -> str | None:
        return next(pieces, None)

    while (piece := await sync_to_async(following)()) is not None:
        yield piece
