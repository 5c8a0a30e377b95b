"""Bulk actions in the admin, to look at and to stop; what became of each message is on the operation's own page."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RangeDateTimeFilter
from unfold.decorators import action, display

from console.access import Action, Forbidden, allowed, rows_in_scope
from console.admin.acting import actor_of
from console.admin.audit import pretty
from console.admin.looking import STATE_COLOURS, LookingAdmin, link
from console.errors import BadRequest
from console.models import Operation
from console.models.audit import LABELS
from console.serializers.operations import operation_json
from console.site import site
from console.usecases.bulk import bulk


@admin.register(Operation, site=site)
class OperationAdmin(LookingAdmin):
    audited_as = {"stop": Action.STOP_OPERATION}
    list_display = ("created", "username", "shown_action", "topic", "shown_state", "total", "done", "skipped",
                    "failed", "reason", "own_page")  # fmt: skip
    list_display_links = ("created", "shown_action")
    list_filter = (("state", ChoicesDropdownFilter), ("created", RangeDateTimeFilter))
    list_filter_submit = True
    search_fields = ("topic", "username", "reason", "action")
    fields = ("own_page", "created", "username", "via", "address", "shown_action", "topic", "reason", "shown_filter",
              "shown_values", "state", "total", "looked_at", "done", "skipped", "failed", "rate_per_s", "canary",
              "spread_ms", "shown_error", "started", "finished")  # fmt: skip
    readonly_fields = fields
    actions = ("stop",)

    @display(description=_("action"))
    def shown_action(self, operation: Operation) -> str:
        return str(LABELS.get(operation.action, operation.action))

    @display(description=_("state"), label=STATE_COLOURS)
    def shown_state(self, operation: Operation) -> tuple[str, str]:
        return operation.state, operation.get_state_display()

    @display(description=_("filter"))
    def shown_filter(self, operation: Operation) -> str:
        """Words of messages only for who may read those."""
        return pretty(operation_json(operation, operation.reads)["filter"])  # type: ignore[attr-defined]

    @display(description=_("values"))
    def shown_values(self, operation: Operation) -> str:
        return pretty(operation.values)

    @display(description=_("error"), empty_value="-")
    def shown_error(self, operation: Operation) -> str | None:
        return operation_json(operation, False)["error"] or None

    @display(description=_("its page"))
    def own_page(self, operation: Operation) -> str | None:
        return link("console:operation", operation.pk)

    @action(description=_("Stop the selected operations"), permissions=["stop"])
    def stop(self, request: HttpRequest, queryset: QuerySet[Operation]) -> None:
        for operation in queryset:
            try:
                bulk.stop(actor_of(request), operation)
            except (Forbidden, BadRequest) as problem:
                self.message_user(request, f"{operation.topic}: {problem}", messages.ERROR)
            else:
                text = gettext("Stopped: %(topic)s") % {"topic": operation.topic}
                self.message_user(request, text, messages.SUCCESS)

    def has_stop_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Action.STOP_OPERATION)

    def get_queryset(self, request: HttpRequest) -> Any:
        # What was named one by one, and how far it was read, may be large; nothing of it is shown.
        return super().get_queryset(request).filter(rows_in_scope(request.user)).defer("refs", "cursor")
