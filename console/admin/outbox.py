"""Rows of the outbox in the admin: to look at, to try at once, or never to send. A table may have millions of them: a
list goes by the state, whose index has its order."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter
from unfold.decorators import action, display
from unfold.forms import ActionForm
from unfold.widgets import UnfoldAdminTextInputWidget

from console.access import Action, Forbidden, Permission, allowed
from console.admin.acting import actor_of
from console.admin.looking import LookingAdmin, link, reading, written
from console.clock import now_ms
from console.errors import BadRequest
from console.outbox.acts import Which
from console.outbox.models import OutboxMessage
from console.outbox.options import options
from console.serializers.outbox import outbox_message_json, outbox_row_json
from console.site import site
from console.usecases import outbox
from console.usecases.audit import REASON_MAX
from rmq_core.figures import number

State = OutboxMessage.State
DATABASE = "database"
COLOURS = {State.WAITING: "info", State.PARKED: "warning", State.SENT: "success", State.DISCARDED: "danger"}


class DatabaseFilter(DropdownFilter):
    """Whose outbox; `get_queryset` has chosen it."""

    title = _("database")
    parameter_name = DATABASE
    all_option = None

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(name, name) for name in options().databases] if len(options().databases) > 1 else ()

    def queryset(self, request: HttpRequest, queryset: QuerySet[OutboxMessage]) -> QuerySet[OutboxMessage]:
        return queryset


class StateFilter(DropdownFilter):
    """One at a time, as on the page *Outbox*; at first what waits."""

    title = _("state")
    parameter_name = "state"
    all_option = None

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return State.choices

    def value(self) -> str:
        return str(super().value() or State.WAITING)

    def queryset(self, request: HttpRequest, queryset: QuerySet[OutboxMessage]) -> QuerySet[OutboxMessage]:
        return queryset.filter(state=self.value())


class WithReason(ActionForm):
    """Why rows are tried at once, or never sent."""

    reason = forms.CharField(
        label=_("Reason"), max_length=REASON_MAX, required=False, widget=UnfoldAdminTextInputWidget()
    )


@admin.register(OutboxMessage, site=site)
class OutboxMessageAdmin(LookingAdmin):
    """For who sees all topics: rows of any lie in an outbox."""

    audited_as = {"retry": Action.RETRY_OUTBOX, "discard": Action.DISCARD_OUTBOX}
    list_display = ("id", "topic", "shown_state", "tries", "shown_error", "message", "written_at", "at", "own_page")
    list_display_links = ("id", "topic")
    list_filter = (StateFilter, DatabaseFilter)
    search_fields = ("topic",)
    search_help_text = _("A topic, or the number of a row.")
    fields = ("own_page", "id", "topic", "state", "tries", "shown_error", "message", "written_at", "at",
              "expires_ms", "unique_for_ms", "version", "headers_text", "content_text")  # fmt: skip
    readonly_fields = fields
    action_form = WithReason
    actions = ("retry", "discard")

    @display(description=_("state"), label=COLOURS)
    def shown_state(self, row: OutboxMessage) -> tuple[str, str]:
        return row.state, row.get_state_display()

    @display(description=_("last error"), empty_value="-")
    def shown_error(self, row: OutboxMessage) -> str | None:
        return outbox_row_json(row, row.reads, 0)["error"] or None  # type: ignore[attr-defined]

    @display(description=_("message"), empty_value="-")
    def message(self, row: OutboxMessage) -> Any:
        return outbox_row_json(row, row.reads, 0)["message"]  # type: ignore[attr-defined]

    @display(description=_("written"))
    def written_at(self, row: OutboxMessage) -> str | None:
        return written(row.written_ms)

    @display(description=_("not before, or ended"), empty_value="-")
    def at(self, row: OutboxMessage) -> str | None:
        return written(row.at_ms)

    @display(description=_("headers"), empty_value="-")
    def headers_text(self, row: OutboxMessage) -> str | None:
        found = self._all_of(row)["headers"]
        return "\n".join(f"{name}: {value}" for name, value in found.items()) if found else None

    @display(description=_("content"))
    def content_text(self, row: OutboxMessage) -> str:
        """Its size, for who may not read it."""
        found = self._all_of(row)
        text = found["content"] if found["content"] is not None else found["content_base64"]
        return gettext("%(n)s bytes") % {"n": number(found["size"])} if text is None else text

    @display(description=_("its page"))
    def own_page(self, row: OutboxMessage) -> str | None:
        return link("console:outbox", database=row._state.db or "", state=row.state)

    @action(description=_("Try the selected rows at once"), permissions=["retry"])
    def retry(self, request: HttpRequest, queryset: QuerySet[OutboxMessage]) -> None:
        self._act(request, queryset, outbox.retry)

    @action(description=_("Never send the selected rows"), permissions=["discard"])
    def discard(self, request: HttpRequest, queryset: QuerySet[OutboxMessage]) -> None:
        self._act(request, queryset, outbox.discard)

    def _act(self, request: HttpRequest, queryset: QuerySet[OutboxMessage], act: Any) -> None:
        which = Which(list(queryset.values_list("pk", flat=True)))
        try:
            changed = act(actor_of(request), queryset.db, which, request.POST.get("reason", ""))
        except (Forbidden, BadRequest) as problem:
            self.message_user(request, str(problem), messages.ERROR)
        else:
            text = gettext("%(changed)s of %(asked)s rows were changed.")
            counts = {"changed": number(changed), "asked": number(len(which.ids))}
            self.message_user(request, text % counts, messages.SUCCESS if changed else messages.WARNING)

    def _all_of(self, row: OutboxMessage) -> dict[str, Any]:
        return outbox_message_json(row, row.reads, now_ms())  # type: ignore[attr-defined]

    def get_queryset(self, request: HttpRequest) -> Any:
        return reading(OutboxMessage.objects.using(_database(request)).all(), request)

    def get_ordering(self, request: HttpRequest) -> Any:
        """What waits as it is tried, of the others the newest first."""
        waits = request.GET.get("state", State.WAITING) == State.WAITING
        return ("at_ms", "pk") if waits else ("-at_ms", "-pk")

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        term = search_term.strip()
        if term.isascii() and term.isdigit() and len(term) < 19:
            return queryset.filter(pk=int(term)), False
        return queryset.filter(topic=term) if term else queryset, False

    def has_module_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Permission.VIEW, "")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return allowed(request.user, Permission.VIEW, "")

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Action.RETRY_OUTBOX, "")

    def has_discard_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Action.DISCARD_OUTBOX, "")


def _database(request: HttpRequest) -> str:
    """The one that the list is filtered by, also on the form that was opened from it."""
    known = options().databases
    (filtered,) = request.GET.getlist("_changelist_filters")[:1] or [""]
    said = request.GET.get(DATABASE) or parse_qs(filtered).get(DATABASE, [""])[0]
    return said if said in known else known[0]
