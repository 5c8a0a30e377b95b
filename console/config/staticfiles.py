"""Static files out of the process itself, without a collection step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise, answering whole files: under ASGI Django would warn about its synchronous stream.

    It is asynchronous where the rest is: a synchronous one would put everything below it into threads.
    """

    sync_capable = async_capable = True

    def __init__(self, get_response: Any) -> None:
        super().__init__(get_response)
        self._asynchronous = iscoroutinefunction(get_response)
        if self._asynchronous:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        return self._answer(request) if self._asynchronous else super().__call__(request)

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(self.static_prefix):
            below: HttpResponse = await self.get_response(request)
            return below
        found = await sync_to_async(self._find, thread_sensitive=False)(request)
        return found or await self.get_response(request)

    def _find(self, request: HttpRequest) -> HttpResponse | None:
        path = request.path_info
        file = self.find_file(path) if self.autorefresh else self.files.get(path)
        return None if file is None else self.serve(file, request)

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
