"""The record in the admin: what became of each message, step by step. Its tables have millions of rows, so lists go by
what has an index: what changed last, a topic, a state of a topic, an id."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter
from unfold.decorators import display

from console.access import in_scope, rows_in_scope
from console.admin.looking import LookingAdmin, link, written
from console.admin.words import STEP_WORDS
from console.models import MessageRecord, RecordPosition
from console.record import timeline
from console.serializers.records import record_json, steps_json
from console.site import site
from rmq_core.errors import InvalidMessage

STEPS = 200
State = MessageRecord.State
COLOURS = {
    State.DEAD: "danger", State.LOST: "danger", State.UNKNOWN: "warning", State.RETRYING: "warning",
    State.DONE: "success", State.IN_FLIGHT: "info", State.READY: "info",
}  # fmt: skip


class TopicFilter(DropdownFilter):
    """By a topic that is recorded."""

    title = _("topic")
    parameter_name = "topic"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(topic, topic) for topic in _recorded(request)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[MessageRecord]) -> QuerySet[MessageRecord]:
        if self.value():
            return queryset.filter(topic=self.value())
        # For who sees some topics: by the index, or rare ones are looked for among all others.
        return queryset if in_scope(request.user, "") else queryset.filter(topic__in=_recorded(request))


class StateFilter(DropdownFilter):
    """By a state, once a topic is chosen: the index has both."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return State.choices if request.GET.get("topic") else ()

    def queryset(self, request: HttpRequest, queryset: QuerySet[MessageRecord]) -> QuerySet[MessageRecord]:
        return queryset.filter(state=self.value()) if self.value() else queryset


@admin.register(MessageRecord, site=site)
class MessageRecordAdmin(LookingAdmin):
    """A message's id may be its content, and is shown like that."""

    list_display = ("updated", "topic", "slot", "ident_text", "shown_state", "sends", "deliveries", "failures",
                    "shown_error", "own_page")  # fmt: skip
    list_display_links = ("updated", "topic")
    list_filter = (TopicFilter, StateFilter)
    search_fields = ("topic",)
    search_help_text = _("A topic, or a topic and the id of a message, with a blank between them.")
    ordering = ("-updated_ms",)
    fields = ("own_page", "topic", "slot", "ident_text", "basis_text", "state", "first", "updated", "ended",
              "due", "priority", "sends", "deliveries", "failures", "shown_error", "steps")  # fmt: skip
    readonly_fields = fields

    @display(description=_("changed"))
    def updated(self, record: MessageRecord) -> str | None:
        return written(record.updated_ms)

    @display(description=_("first seen"))
    def first(self, record: MessageRecord) -> str | None:
        return written(record.first_ms)

    @display(description=_("ended"), empty_value="-")
    def ended(self, record: MessageRecord) -> str | None:
        return written(record.ended_ms)

    @display(description=_("due"), empty_value="-")
    def due(self, record: MessageRecord) -> str | None:
        return written(record.due_ms)

    @display(description=_("id"), empty_value="-")
    def ident_text(self, record: MessageRecord) -> Any:
        return _told(record)["id"]

    @display(description=_("slot basis"), empty_value="-")
    def basis_text(self, record: MessageRecord) -> Any:
        return _told(record)["slot_basis"]

    @display(description=_("state"), label=COLOURS)
    def shown_state(self, record: MessageRecord) -> tuple[str, str]:
        return record.state, record.get_state_display()

    @display(description=_("error"), empty_value="-")
    def shown_error(self, record: MessageRecord) -> Any:
        return _told(record)["error"]

    @display(description=_("its page"), empty_value="-")
    def own_page(self, record: MessageRecord) -> str | None:
        """None for who may not know its id."""
        ident = _told(record)["id"]
        return None if ident is None else link("console:message", record.topic, id=ident, slot=record.slot)

    @display(description=_("steps"))
    def steps(self, record: MessageRecord) -> str:
        """The newest, oldest first."""
        lines = steps_json(timeline.newest_steps(record, STEPS), record.slot, record.reads)  # type: ignore[attr-defined]
        heads = (gettext("When"), gettext("What happened"), gettext("Worker"), gettext("Failures"), gettext("Error"))
        rows = [
            (written(each["at_ms"]), STEP_WORDS.get(each["event"], each["event"]), each["worker"] or "–",
             each["failures"] or "–", each["error"] or "–")
            for each in lines
        ]  # fmt: skip
        cells = "<td>{}</td>" * len(heads)
        return format_html(
            '<div class="rc-scroll" tabindex="0"><table class="rc-table"><thead><tr>{}</tr></thead>'
            "<tbody>{}</tbody></table></div>",
            format_html_join("", '<th scope="col">{}</th>', ((head,) for head in heads)),
            format_html_join("", f"<tr>{cells}</tr>", rows),
        )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).filter(rows_in_scope(request.user)).defer("body")

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        topic, _blank, ident = search_term.strip().partition(" ")
        if topic:
            queryset = queryset.filter(topic=topic)
        if ident:
            try:
                queryset = queryset.filter(pk__in=timeline.keys_of(topic, ident.strip()))
            except InvalidMessage:
                queryset = queryset.none()
        return queryset, False


def _told(record: Any) -> dict[str, Any]:
    return record_json(record, record.reads)


def _recorded(request: HttpRequest) -> list[str]:
    """The topics that are recorded, of those that somebody may see."""
    seen = RecordPosition.objects.filter(rows_in_scope(request.user))
    return list(seen.order_by("topic").values_list("topic", flat=True).distinct())
