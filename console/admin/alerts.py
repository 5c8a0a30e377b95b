"""Alerts in the admin: rules with a preview of what they would have done, and who is told."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.forms import Script
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminPasswordWidget,
    UnfoldAdminTextInputWidget,
)

from console.access import Action, Permission, allowed, in_scope, split_patterns
from console.admin.acting import actor_of
from console.admin.begun import BegunAdmin
from console.admin.figures import FigureAdmin
from console.admin.guarded import FORMS
from console.admin.words import PROBLEM_WORDS
from console.errors import InvalidField
from console.models import AlertReceiver, AlertRule
from console.models.alerts import METRICS, PROBLEMS
from console.preferences import preferences_of
from console.site import site
from console.usecases import alerts

RULE_FIELDS = (
    "name", "description", ("problem", "metric"), ("comparison", "threshold"), "topics", ("for_ms", "severity"),
    ("fire_after", "resolve_after"), "receivers", "enabled", "preview",
)  # fmt: skip


class RuleForm(forms.ModelForm):  # type: ignore[type-arg]  # at run time it has none
    """Checks what a field alone cannot."""

    class Meta:
        model = AlertRule
        fields = "__all__"
        widgets = {"topics": UnfoldAdminTextInputWidget, "receivers": UnfoldAdminCheckboxSelectMultipleWidget}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, choices in (("problem", [(each, PROBLEM_WORDS[each]) for each in PROBLEMS]), ("metric", METRICS)):
            field = self.fields.get(name)  # none for who may only look
            if isinstance(field, forms.ChoiceField):
                field.choices = [("", "–"), *choices]

    def clean_topics(self) -> str:
        return ", ".join(split_patterns(self.cleaned_data["topics"]))

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if not self.errors:
            known = {name: given[name] for name in alerts.RULE_FIELDS if name in given}
            try:
                alerts.check_rule(AlertRule(name=given["name"], **known))
            except InvalidField as error:
                self.add_error(error.field if error.field in self.fields else None, str(error))
        return given


@admin.register(AlertRule, site=site)
class AlertRuleAdmin(BegunAdmin, FigureAdmin):
    """Beside the form stands when such a rule would have fired, before it is saved."""

    audited_as = dict.fromkeys(FORMS, Action.ALERT_RULE)
    form = RuleForm
    list_display = (
        "name",
        "shown_problem",
        "metric",
        "comparison",
        "threshold",
        "topics",
        "for_ms",
        "severity",
        "enabled",
    )
    list_filter = (("severity", ChoicesDropdownFilter), "enabled")
    search_fields = ("name", "topics", "description")
    fields = RULE_FIELDS
    readonly_fields = ("preview",)
    list_per_page = 50
    actions = ()

    class Media:
        js = (Script("console/js/pages/alertpreview.js", type="module"),)

    @display(description=_("problem"), ordering="problem", empty_value="-")
    def shown_problem(self, rule: AlertRule) -> Any:
        return PROBLEM_WORDS.get(rule.problem, rule.problem) or None

    @display(description=_("last seven days"))
    def preview(self, rule: AlertRule) -> str:
        """Filled in by the module of the page, from what stands in the form."""
        return format_html(
            '<span class="rc-alert-preview" role="status" data-address="{}" data-fires="{}" data-never="{}"'
            ' data-left-out="{}" data-time-zone="{}">{}</span>',
            reverse("console-api:alert-rule-preview"),
            gettext("would have fired %(n)s times, last %(time)s (%(topic)s)"),
            gettext("would not have fired"),
            gettext("; %(n)s topics were not looked at"),
            getattr(rule, "shown_zone", ""),
            gettext("Fill in the form to see when it would have fired."),
        )

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        context["adminform"].form.instance.shown_zone = preferences_of(request.user).time_zone
        return super().render_change_form(request, context, *args, **kwargs)

    def get_queryset(self, request: HttpRequest) -> Any:
        """Those of one's topics; a rule with patterns is for whoever sees all."""
        rows = super().get_queryset(request)
        if in_scope(request.user, ""):
            return rows
        return rows.filter(pk__in=[each.pk for each in rows if alerts.sees_patterns(request.user, each.topics)])

    def save_model(self, request: HttpRequest, obj: AlertRule, form: Any, change: bool) -> None:
        alerts.put_rule(actor_of(request), obj, receivers=form.cleaned_data.get("receivers"))

    def delete_model(self, request: HttpRequest, obj: AlertRule) -> None:
        alerts.remove_rule(actor_of(request), obj, "deleted in the admin")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Permission.VIEW)

    def has_view_permission(self, request: HttpRequest, obj: AlertRule | None = None) -> bool:
        return allowed(request.user, Permission.VIEW)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Action.ALERT_RULE)

    def has_change_permission(self, request: HttpRequest, obj: AlertRule | None = None) -> bool:
        return allowed(request.user, Action.ALERT_RULE)

    def has_delete_permission(self, request: HttpRequest, obj: AlertRule | None = None) -> bool:
        # One by one: each is recorded in the audit.
        return obj is not None and allowed(request.user, Action.ALERT_RULE)


class ReceiverForm(forms.ModelForm):  # type: ignore[type-arg]
    """The address and the secret go in and never come out: left empty, they stay as they are."""

    new_address = forms.CharField(
        label=_("Address"), required=False, max_length=2_000, widget=UnfoldAdminPasswordWidget(render_value=False),
        help_text=_("Of a webhook https://…; for Apprise one of its addresses, such as slack://… or mailto://…. It is"
                    " not shown again; empty: as it is."),
    )  # fmt: skip
    new_secret = forms.CharField(
        label=_("Secret"), required=False, max_length=200, widget=UnfoldAdminPasswordWidget(render_value=False),
        help_text=_("Of a webhook: what it is sent is signed with this. It is not shown again; empty: as it is."),
    )  # fmt: skip

    class Meta:
        model = AlertReceiver
        fields = ("name", "kind", "private", "least", "resolved", "enabled")

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        row = self.instance
        for name in alerts.SECRETS:
            setattr(row, name, given.get(f"new_{name}") or getattr(row, name))
        if not self.errors:
            wanted = AlertReceiver(pk=row.pk, address=row.address, secret=row.secret)
            for name in ("name", *alerts.RECEIVER_FIELDS):
                setattr(wanted, name, given.get(name, getattr(row, name)))
            try:
                alerts.check_receiver(wanted)
            except InvalidField as error:
                self.add_error({"address": "new_address", "secret": "new_secret"}.get(error.field), str(error))
        return given


@admin.register(AlertReceiver, site=site)
class AlertReceiverAdmin(BegunAdmin):
    """Whom alerts are sent to."""

    audited_as = dict.fromkeys(FORMS, Action.ALERT_RECEIVER)
    form = ReceiverForm
    list_display = ("name", "kind", "least", "resolved", "private", "enabled")
    list_filter = (("kind", ChoicesDropdownFilter),)
    search_fields = ("name",)
    fields = ("name", "kind", "new_address", "new_secret", "private", "least", "resolved", "enabled")
    list_per_page = 50
    actions = ()

    def save_model(self, request: HttpRequest, obj: AlertReceiver, form: Any, change: bool) -> None:
        anew = [name for name in alerts.SECRETS if form.cleaned_data.get(f"new_{name}")]
        alerts.put_receiver(actor_of(request), obj, anew=anew)

    def delete_model(self, request: HttpRequest, obj: AlertReceiver) -> None:
        alerts.remove_receiver(actor_of(request), obj, "deleted in the admin")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Action.ALERT_RECEIVER)

    def has_view_permission(self, request: HttpRequest, obj: AlertReceiver | None = None) -> bool:
        return allowed(request.user, Action.ALERT_RECEIVER)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Action.ALERT_RECEIVER)

    def has_change_permission(self, request: HttpRequest, obj: AlertReceiver | None = None) -> bool:
        return allowed(request.user, Action.ALERT_RECEIVER)

    def has_delete_permission(self, request: HttpRequest, obj: AlertReceiver | None = None) -> bool:
        return obj is not None and allowed(request.user, Action.ALERT_RECEIVER)
