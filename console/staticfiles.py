"""Static files out of the process itself, without a collection step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise, answering whole files: under ASGI Django would warn about its synchronous stream."""

    def add_files(self, root: Any, prefix: str | None = None) -> None:
        """A folder of collected files is optional: without one, files come from where they were written."""
        if Path(root).is_dir():
            super().add_files(root, prefix)

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        body = b""
        if found.file is not None:
            with found.file:
                body = found.file.read()
        response = HttpResponse(body, status=int(found.status))
        del response["content-type"]
        for name, value in found.headers:
            response[name] = value
        if found.file is not None:
            response["Content-Length"] = str(len(body))  # a file may have changed since it was found
        return response
