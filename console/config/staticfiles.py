"""Static files out of the process itself, without a collection step."""

from __future__ import annotations

import os
import re
from email.utils import formatdate
from pathlib import Path
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware

from console.release import RELEASE

UNKEPT = "no-cache"
_A_RELEASE = re.compile(r"^[0-9a-f]{16}/")


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise, answering whole files: under ASGI Django would warn about its synchronous stream.

    It is asynchronous where the rest is: a synchronous one would put everything below it into threads.

    Where `STATIC_URL` ends with the release, browsers keep what is below it for good. What is asked for by the address
    of another release, or of none, is answered with what is here, and not kept; nor is what was replaced meanwhile.
    """

    sync_capable = async_capable = True

    def __init__(self, get_response: Any) -> None:
        super().__init__(get_response)
        self._asynchronous = iscoroutinefunction(get_response)
        if self._asynchronous:
            markcoroutinefunction(self)

    @property
    def _of_all_releases(self) -> str:
        return str(self.static_prefix).removesuffix(f"{RELEASE}/")

    def __call__(self, request: HttpRequest) -> Any:
        return self._answer(request) if self._asynchronous else self._find(request) or self.get_response(request)

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        found = None
        if request.path_info.startswith(self._of_all_releases):
            found = await sync_to_async(self._find, thread_sensitive=False)(request)
        return found or await self.get_response(request)

    def _find(self, request: HttpRequest) -> HttpResponse | None:
        path = self._of_this_release(request.path_info)
        file = self.find_file(path) if self.autorefresh else self.files.get(path)
        if file is None:
            return None
        response = self.serve(file, request)
        if path != request.path_info:
            response["Cache-Control"] = UNKEPT
        return response

    def _of_this_release(self, path: str) -> str:
        if path.startswith(self.static_prefix) or not path.startswith(self._of_all_releases):
            return path
        return f"{self.static_prefix}{_A_RELEASE.sub('', path.removeprefix(self._of_all_releases))}"

    def immutable_file_test(self, path: str, url: str) -> bool:
        of_this_release = self.static_prefix != self._of_all_releases and url.startswith(self.static_prefix)
        return of_this_release or bool(super().immutable_file_test(path, url))

    def add_files(self, root: Any, prefix: str | None = None) -> None:
        """A folder of collected files is optional: without one, files come from where they were written."""
        if Path(root).is_dir():
            super().add_files(root, prefix)

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        body, replaced = b"", False
        if found.file is not None:
            with found.file:
                body = found.file.read()
                written = formatdate(os.fstat(found.file.fileno()).st_mtime, usegmt=True)
            replaced = written != dict(found.headers).get("Last-Modified", written)
        response = HttpResponse(body, status=int(found.status))
        del response["content-type"]
        for name, value in found.headers:
            response[name] = value
        if found.file is not None:
            response["Content-Length"] = str(len(body))  # a file may have changed since it was found
        if replaced:
            response["Cache-Control"] = UNKEPT
        return response
