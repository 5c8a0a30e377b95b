"""Recurring messages in the admin: a form with validation; what code defines is read only there."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from console.access import Action, Permission, allowed, rows_in_scope
from console.admin.acting import actor_of
from console.admin.begun import BegunAdmin
from console.admin.figures import FigureAdmin
from console.admin.guarded import FORMS
from console.models import RecurringMessage
from console.site import site
from console.usecases import recurring

FIELDS = (
    "name", "description", "topic", "content", ("when", "value"), ("cron", "every_ms"), "time_zone", "jitter_ms",
    "misfire", ("start_ms", "end_ms"), ("expires_ms", "unique_for_ms"), "tenant", "enabled",
)  # fmt: skip


@admin.register(RecurringMessage, site=site)
class RecurringMessageAdmin(BegunAdmin, FigureAdmin):
    """When the form is saved, its next tick is worked out anew."""

    audited_as = dict.fromkeys(FORMS, Action.RECURRING)
    list_display = ("name", "topic", "cron", "every_ms", "time_zone", "misfire", "enabled", "origin")
    list_filter = (("misfire", ChoicesDropdownFilter), ("origin", ChoicesDropdownFilter))
    search_fields = ("name", "topic", "description")
    fields = FIELDS
    list_per_page = 50
    actions = ()

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).filter(rows_in_scope(request.user))

    def save_model(self, request: HttpRequest, obj: RecurringMessage, form: Any, change: bool) -> None:
        recurring.put(actor_of(request), obj)

    def delete_model(self, request: HttpRequest, obj: RecurringMessage) -> None:
        recurring.remove(actor_of(request), obj, "deleted in the admin")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Permission.VIEW)

    def has_view_permission(self, request: HttpRequest, obj: RecurringMessage | None = None) -> bool:
        # The form shows the content.
        return allowed(request.user, Permission.READ_PAYLOAD)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Action.RECURRING)

    def has_change_permission(self, request: HttpRequest, obj: RecurringMessage | None = None) -> bool:
        return allowed(request.user, Action.RECURRING) and (obj is None or obj.origin != RecurringMessage.Origin.CODE)

    def has_delete_permission(self, request: HttpRequest, obj: RecurringMessage | None = None) -> bool:
        # One by one: each is recorded in the audit.
        return obj is not None and self.has_change_permission(request, obj)
