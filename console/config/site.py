"""The admin site: Unfold's, opening on the console's overview."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.sites import UnfoldAdminSite

from console.config import signin


class ConsoleSite(UnfoldAdminSite):
    """Unfold's site; its index is the overview, since that is what people come for."""

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if request.method != "POST":
            return super().login(request, extra_context)
        with signin.turn_of(request) as mine:
            return super().login(request, extra_context) if mine else signin.too_early(request, signin.PATIENCE_S)

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return redirect("overview")
