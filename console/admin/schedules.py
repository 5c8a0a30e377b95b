"""Schedules of the pipeline in the admin: a form with the checks of the page *Reconciliation* and of REST."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from console.access import Action, Permission, allowed, lists_in_scope, split_patterns
from console.admin.acting import actor_of
from console.admin.begun import BegunAdmin
from console.admin.guarded import FORMS
from console.admin.looking import named, written
from console.errors import BadRequest
from console.models import PipelineSchedule
from console.models.pipeline import Kind
from console.site import site
from console.usecases.runs import run_places, runs
from console.usecases.runs.runs import RunRequest
from rmq_core.errors import RMQError
from rmq_core.figures import duration

SWITCH = frozenset({"enabled", "reason"})
"""What is changed also where a schedule's topics, or its ledger, are gone."""


class ScheduleForm(forms.ModelForm):  # type: ignore[type-arg]  # at run time it has none
    """Its topics as they are typed, and why."""

    names = forms.CharField(
        label=_("Topics"), required=False, widget=UnfoldAdminTextInputWidget(),
        help_text=_("Between commas or blanks; empty: all topics."),
    )  # fmt: skip
    reason = forms.CharField(
        label=_("Reason"), max_length=500, required=False, widget=UnfoldAdminTextInputWidget(),
        help_text=_("It is kept in the audit."),
    )  # fmt: skip

    class Meta:
        model = PipelineSchedule
        fields = ("kind", "ledger", "every_ms", "enabled")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = self.instance
        self.fields["names"].initial = named(known.topics) if known.topics else ""
        kinds = [(each.value, each.label) for each in Kind if each not in runs.WORDS or each == known.kind]
        self.fields["kind"] = forms.ChoiceField(
            label=_("Kind"), choices=kinds, widget=UnfoldAdminSelectWidget(), initial=known.kind or Kind.RECONCILE
        )
        ledgers = sorted({*run_places.ledgers(), *filter(None, [known.ledger])})
        self.fields["ledger"] = forms.ChoiceField(
            label=_("Ledger"), choices=[("", "–"), *((each, each) for each in ledgers)], required=False,
            widget=UnfoldAdminSelectWidget(), help_text=_("Of a reconciliation: what it is compared with, too."),
        )  # fmt: skip

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if not self.errors and (self.instance.pk is None or set(self.changed_data) - SWITCH):
            try:
                runs.check_schedule(self.asked(), given["every_ms"])
            except (BadRequest, RMQError) as problem:
                self.add_error(None, str(problem))
        return given

    def clean_names(self) -> tuple[str, ...]:
        typed: str = self.cleaned_data["names"]
        names = split_patterns(typed)
        if typed and not names:
            raise ValidationError(gettext("This names no topic; leave it empty for all topics."))
        return names

    def asked(self) -> RunRequest:
        given = self.cleaned_data
        return RunRequest(given["kind"], given["names"], given["ledger"], given["reason"])


@admin.register(PipelineSchedule, site=site)
class PipelineScheduleAdmin(BegunAdmin):
    """Made by people for all topics alone; people for some topics see the schedules of those."""

    audited_as = dict.fromkeys(FORMS, Action.SCHEDULE)
    form = ScheduleForm
    list_display = ("kind", "shown_topics", "ledger", "shown_every", "enabled", "shown_next", "username")
    list_filter = (("kind", ChoicesDropdownFilter), "enabled")
    search_fields = ("ledger", "username")
    readonly_fields = ("shown_topics", "shown_every", "shown_next", "username", "changed")
    list_per_page = 50
    actions = ()

    def get_fields(self, request: HttpRequest, obj: PipelineSchedule | None = None) -> Any:
        told = ("shown_next", "username", "changed") if obj else ()
        if self.has_change_permission(request, obj):
            return ("kind", "names", "ledger", "every_ms", "enabled", *told, "reason")
        return ("kind", "shown_topics", "ledger", "shown_every", "enabled", *told)

    @display(description=_("topics"))
    def shown_topics(self, schedule: PipelineSchedule) -> str:
        return named(schedule.topics)

    @display(description=_("every"), ordering="every_ms")
    def shown_every(self, schedule: PipelineSchedule) -> str:
        return duration(schedule.every_ms)

    @display(description=_("next run"), ordering="next_ms", empty_value="-")
    def shown_next(self, schedule: PipelineSchedule) -> str | None:
        return written(schedule.next_ms) if schedule.enabled else None

    def get_queryset(self, request: HttpRequest) -> Any:
        return lists_in_scope(super().get_queryset(request), request.user)

    def save_model(self, request: HttpRequest, obj: PipelineSchedule, form: Any, change: bool) -> None:
        if change and not set(form.changed_data) - SWITCH:
            runs.switch(actor_of(request), obj, obj.enabled, form.cleaned_data["reason"])
            return
        known = obj if change else None
        obj.pk = runs.schedule(actor_of(request), form.asked(), obj.every_ms, known, obj.enabled).pk

    def delete_model(self, request: HttpRequest, obj: PipelineSchedule) -> None:
        runs.remove(actor_of(request), obj, "deleted in the admin")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Permission.VIEW)

    def has_view_permission(self, request: HttpRequest, obj: PipelineSchedule | None = None) -> bool:
        return allowed(request.user, Permission.VIEW)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Action.SCHEDULE)

    def has_change_permission(self, request: HttpRequest, obj: PipelineSchedule | None = None) -> bool:
        return allowed(request.user, Action.SCHEDULE)

    def has_delete_permission(self, request: HttpRequest, obj: PipelineSchedule | None = None) -> bool:
        # One by one: each is recorded in the audit.
        return obj is not None and allowed(request.user, Action.SCHEDULE)
