"""The choice of a language."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.i18n import set_language


def choose(request: HttpRequest) -> HttpResponseBase:
    """Django's; but who comes from nowhere is led into the console, which need not lie at the root."""
    response = set_language(request)
    if response.get("Location") == "/":
        response["Location"] = reverse("console:overview")
    return response
