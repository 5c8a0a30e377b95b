"""The page to read and try the API."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI, Swagger

from console.templating import render


class Docs(Swagger):
    """Out of our own static files; what is tried goes with the reader's session, so its CSRF token has to go too."""

    def __init__(self) -> None:
        # Without validatorUrl the page would show a badge from a server in the internet.
        super().__init__(settings={"validatorUrl": None, "docExpansion": "none"})

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        settings = {**self.settings, "url": self.get_openapi_url(api, kwargs)}
        context = {"swagger_settings": json.dumps(settings, indent=1), "api": api, "add_csrf": True}
        return render(request, self.template, context)
