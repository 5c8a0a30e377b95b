"""The admin site: Unfold's, opening on the console's overview."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.sites import UnfoldAdminSite


class ConsoleSite(UnfoldAdminSite):
    """Unfold's site; its index is the overview, since that is what people come for."""

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return redirect("overview")
