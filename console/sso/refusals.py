"""What those see who are not let in; it is in the audit, too."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import get_language, gettext

from console.models import AuditEntry
from console.site import sign_in_address
from console.templating import render
from console.usecases.audit import note


def refusal(request: HttpRequest, words: str, name: str) -> HttpResponse:
    """Of somebody whom the provider knows by that name."""
    address = request.META.get("REMOTE_ADDR") or None
    note("sign_in", username=name, result=AuditEntry.Result.REFUSED, detail={"error": words}, address=address)
    return _page(request, words, 403)


def did_not_work(request: HttpRequest) -> HttpResponse:
    """The provider is away, or what came back is not what we asked for; nothing is known of who it was."""
    return _page(request, gettext("Signing in did not work, or was cancelled. Try again."), 502)


def _page(request: HttpRequest, words: str, status: int) -> HttpResponse:
    context = {
        "title": gettext("You are not signed in"),
        "words": [words],
        "home": sign_in_address(),
        "language": get_language() or "en",
    }
    return render(request, "console/failed.html", context, status)
