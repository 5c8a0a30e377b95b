"""Files that a browser saves and never shows or runs: a content, or any length a piece at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header


def download(request: HttpRequest, pieces: Iterator[str], name: str, content_type: str) -> StreamingHttpResponse:
    """Served as it is made by either kind of server."""
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


async def _awaited(pieces: Iterator[str]) -> AsyncIterator[str]:
    def following() -> str | None:
        return next(pieces, None)

    while (piece := await sync_to_async(following)()) is not None:
        yield piece
