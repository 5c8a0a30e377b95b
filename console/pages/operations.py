"""The operations: every bulk action, and one of them."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from console.access import in_scope
from console.errors import BadRequest
from console.models import Operation
from console.pages.shell import console_page, render_page


@console_page
def page(request: HttpRequest) -> HttpResponse:
    return render_page(request, "console/operations.html", gettext("Operations"), data={})


@console_page
def one(request: HttpRequest, ident: uuid.UUID) -> HttpResponse:
    operation = Operation.objects.only("topic").filter(pk=ident).first()
    if operation is None or not in_scope(request.user, operation.topic):
        raise BadRequest(gettext("There is no operation with this number; it may be too old to be kept."))
    return render_page(
        request,
        "console/operation.html",
        gettext("Operation on %(topic)s") % {"topic": operation.topic},
        data={"ident": str(ident)},
    )
