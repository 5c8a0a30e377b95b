"""What somebody sees instead of a page: refused, not there, failed.

It stands alone where the layout may be what fails, which asks the database who is there.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import uuid

from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.urls import get_script_prefix, reverse
from django.utils.translation import get_language, gettext
from django.views import defaults

from console.access import Permission, allowed
from console.pages.shell import forbidden as forbidden_in_the_layout
from console.pages.shell import render_page
from console.templating import render

log = logging.getLogger("console.pages")

REQUEST_ID = "X-Request-Id"
RETRY_S = 5


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A host that is not ours, a body that cannot be read."""
    if _of_api(request):
        return defaults.bad_request(request, exception)
    return _alone(request, 400, gettext("This request cannot be understood"), gettext("Nothing was done."))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """In the layout for those whom it knows."""
    if _of_api(request):
        return defaults.permission_denied(request, exception)
    with contextlib.suppress(DatabaseError):
        if request.user.is_authenticated:
            return forbidden_in_the_layout(request, exception)
    words = gettext("You are not signed in, or with another name. Nothing was done.")
    return _alone(request, 403, gettext("You may not see this page"), words)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """In the layout for those who may see it."""
    if _of_api(request):
        return defaults.page_not_found(request, exception)
    words = gettext("There is nothing at this address. It may be mistyped, or from an older release.")
    with contextlib.suppress(DatabaseError, AttributeError):  # nobody has been asked for yet, or nobody answers
        if allowed(request.user, Permission.VIEW):
            return render_page(request, "console/missing.html", gettext("Not found"), error=words, status=404)
    return _alone(request, 404, gettext("Not found"), words)


def failed(request: HttpRequest) -> HttpResponse:
    """What nobody expected; the database that is full or away has words of its own."""
    if _of_api(request):
        return defaults.server_error(request)
    request_id, error = uuid.uuid4().hex, sys.exc_info()[1]
    log.error("%s %s: request %s failed: %s", request.method, request.path, request_id, type(error).__name__)
    try:
        if isinstance(error, (OperationalError, InterfaceError)):
            words = gettext(
                "The console's database does not answer, or takes nothing more: it may be away, or its disk full."
                " Queues and workers go on; what you did just now was not done."
            )
            title = gettext("The console's database cannot be used")
            response = _alone(request, 503, title, words, request_id=request_id)
            response["Retry-After"] = str(RETRY_S)
        else:
            words = gettext(
                "Queues and workers go on. What you did just now may not have been done: look before you repeat it."
            )
            response = _alone(request, 500, gettext("Something failed here"), words, request_id=request_id)
    except Exception:
        log.exception("the page that says so failed, too")
        response = defaults.server_error(request)
    response[REQUEST_ID] = request_id
    return response


def _of_api(request: HttpRequest) -> bool:
    """What it answers is brought into the API's own form."""
    return request.path_info.startswith("/api/v1/")


def _alone(request: HttpRequest, status: int, title: str, *words: str, request_id: str = "") -> HttpResponse:
    """Asks neither the database nor Redis."""
    try:
        home = reverse("console:overview")
    except Exception:  # of a request that came before the addresses did
        home = get_script_prefix()
    context = {
        "title": title,
        "words": words,
        "request_id": request_id,
        "home": home,
        "again": status >= 500 and request.method == "GET",
        "language": get_language() or "en",
    }
    return render(request, "console/failed.html", context, status)
