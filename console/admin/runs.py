"""Runs of the pipeline in the admin, to look at; what a run found is on its own page."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RangeDateTimeFilter
from unfold.decorators import display

from console.access import lists_in_scope
from console.admin.audit import pretty
from console.admin.looking import STATE_COLOURS, LookingAdmin, link, named
from console.models import Reconciliation
from console.serializers.runs import run_json
from console.site import site

ASKED = ("dry_run", "into", "at_ms", "from_scratch")
"""Of what was asked for; whose messages an erasure is about is content."""


@admin.register(Reconciliation, site=site)
class RunAdmin(LookingAdmin):
    list_display = ("created", "username", "kind", "shown_topics", "shown_state", "complete", "findings", "reason",
                    "own_page")  # fmt: skip
    list_display_links = ("created", "kind")
    list_filter = (
        ("kind", ChoicesDropdownFilter),
        ("state", ChoicesDropdownFilter),
        ("created", RangeDateTimeFilter),
    )
    list_filter_submit = True
    search_fields = ("username", "reason", "ledger")
    fields = ("own_page", "created", "username", "via", "address", "kind", "shown_topics", "ledger", "shown_asked",
              "reason", "state", "percent", "complete", "findings", "error", "started", "finished")  # fmt: skip
    readonly_fields = fields

    @display(description=_("topics"))
    def shown_topics(self, run: Reconciliation) -> str:
        return named(run.topics)

    @display(description=_("asked"))
    def shown_asked(self, run: Reconciliation) -> str:
        said = run_json(run)
        return pretty({name: said[name] for name in ASKED if said[name]})

    @display(description=_("state"), label=STATE_COLOURS)
    def shown_state(self, run: Reconciliation) -> tuple[str, str]:
        return run.state, run.get_state_display()

    @display(description=_("its page"))
    def own_page(self, run: Reconciliation) -> str | None:
        return link("console:run", run.pk)

    def get_queryset(self, request: HttpRequest) -> Any:
        # Figures of every topic, and the ids of an erasure.
        return lists_in_scope(super().get_queryset(request), request.user).defer("tables", "summary", "asked", "stages")
