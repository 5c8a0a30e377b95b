"""The outboxes of the databases."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from console.access import Permission, require
from console.outbox.options import options
from console.pages.shell import console_page, render_page


@console_page
def page(request: HttpRequest) -> HttpResponse:
    require(request.user, Permission.VIEW, "")  # rows of any topics lie in an outbox
    return render_page(request, "console/outbox.html", gettext("Outbox"), data={"databases": options().databases})
