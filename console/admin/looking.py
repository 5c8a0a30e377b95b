"""What lists that are only looked at have in common: nobody counts them, and none of them is changed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.contrib.admin import ShowFacets
from django.contrib.admin.views.main import ORDER_VAR
from django.core.paginator import Page
from django.db.models import BooleanField, QuerySet, Value
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.timezone import localtime
from django.utils.translation import gettext
from unfold.paginator import InfinitePaginator

from console.access import Permission, allowed
from console.admin.figures import FigureAdmin
from console.admin.guarded import NarrowList
from rmq_core.figures import digits
from rmq_core.model.text import worded

NEWEST = 10_000
"""So far one may page: what lies behind is found by a filter or by searching."""
STATE_COLOURS = {
    "queued": "info", "running": "info", "stopping": "warning", "stopped": "warning", "done": "success",
    "failed": "danger",
}  # fmt: skip
"""Of operations and runs."""


class NewestPaginator(InfinitePaginator):
    """Pages without a count of all rows."""

    template_name = "console/admin/pages.html"

    @property
    def count(self) -> int:
        return NEWEST

    def _get_page(self, *args: Any, **kwargs: Any) -> Page[Any]:
        return Page(*args, **kwargs)


class UncountedList(NarrowList):
    """Says nothing of how many there are, and has no order but its own, which has an index."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        self.params.pop(ORDER_VAR, None)
        found: list[Any] = super().get_ordering(request, queryset)
        return found

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.full_result_count = self.result_count


class LookingAdmin(FigureAdmin):
    """Rows to look at. `reads` of a row: whether who looks may read content."""

    list_per_page = 50
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    paginator = NewestPaginator
    list_disable_select_all = True
    sortable_by = ()
    actions: Any = ()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[UncountedList]:
        return UncountedList

    def get_queryset(self, request: HttpRequest) -> Any:
        return reading(super().get_queryset(request), request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Permission.VIEW)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return allowed(request.user, Permission.VIEW)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def reading(rows: QuerySet[Any], request: HttpRequest) -> QuerySet[Any]:
    """Rows that know whether who looks may read content."""
    reads = allowed(request.user, Permission.READ_PAYLOAD)
    found: QuerySet[Any] = rows.annotate(reads=Value(reads, output_field=BooleanField()))
    return found


def written(ms: int | None) -> str | None:
    """Epoch milliseconds, to the second: in lists as in forms, which write a time of their own as it is in Python."""
    if not ms:
        return None
    try:
        return f"{localtime(datetime.fromtimestamp(ms / 1000, UTC)):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):  # a row may hold any number
        return digits(ms)


def link(page: str, *args: Any, **query: Any) -> str | None:
    """To one of the console's own pages; None where a row holds what has none, such as a topic named `a/b`."""
    try:
        address = reverse(page, args=args)
    except NoReverseMatch:
        return None
    asked = f"?{urlencode(query)}" if query else ""
    return format_html('<a class="rc-link" href="{}{}">{}</a>', address, asked, gettext("Open"))


def named(topics: Sequence[object]) -> str:
    """The topics that something is about; none stands for all. A row may hold anything."""
    return ", ".join(each if isinstance(each, str) else worded(each) for each in topics) or gettext("all topics")
