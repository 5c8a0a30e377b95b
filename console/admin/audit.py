"""The audit list: filters and a read-only form, nothing to add, change or delete."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import RangeDateTimeFilter
from unfold.decorators import display

from console.access import rows_in_scope
from console.admin.figures import FigureAdmin
from console.models import AuditEntry
from console.site import site


@admin.register(AuditEntry, site=site)
class AuditEntryAdmin(FigureAdmin):
    list_display = ("at", "username", "action", "topic", "asked", "done", "shown_result", "reason", "address")
    list_display_links = ("at", "action")
    list_filter = ("action", "result", ("at", RangeDateTimeFilter))
    list_filter_submit = True
    search_fields = ("username", "topic", "reason", "action")
    fields = ("at", "username", "action", "topic", "reason", "shown_query", "asked", "done", "result",
              "shown_detail", "address", "via")  # fmt: skip
    readonly_fields = fields
    list_per_page = 50
    show_full_result_count = False

    @display(
        description=_("result"),
        label={
            "done": "success",
            "partly": "warning",
            "nothing": "warning",
            "refused": "danger",
            "failed": "danger",
            "started": "info",
        },
    )
    def shown_result(self, entry: AuditEntry) -> tuple[str, str]:
        return entry.result, entry.get_result_display()

    @display(description=_("query"))
    def shown_query(self, entry: AuditEntry) -> str:
        return pretty(entry.query)

    @display(description=_("detail"))
    def shown_detail(self, entry: AuditEntry) -> str:
        return pretty(entry.detail)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).filter(rows_in_scope(request.user))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return False


def pretty(value: object) -> str:
    """JSON to look at; never markup."""
    return format_html('<pre class="rc-pre">{}</pre>', json.dumps(value, indent=1, ensure_ascii=False))
