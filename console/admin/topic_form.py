"""The admin's form of a topic definition: the fields of the console's own, its checks, its plan, its conflicts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from console.serializers.topics import definition_json
from console.usecases.definitions.field_list import Field
from console.usecases.definitions.fields import FIELDS, InvalidDefinition, defaults, wanted_topic
from rmq_core.model.topic import NOT_OF_STREAMS, ONLY_OF_STREAMS, Topic

SETS = (
    (None, ("name", "kind", "slots", "description", "paused")),
    (_("Failures"), ("max_retries", "visibility_timeout_ms", "backoff_ms", "backoff_max_ms", "on_failure", "undo_ms")),
    (
        _("Bounds"),
        (
            *("max_backlog", "max_content_bytes", "rate_limit", "concurrency", "key_concurrency"),
            *("weight", "lateness_objective_ms", "expires_ms"),
        ),
    ),
)
"""What stands together; the rest stands below."""


class TopicForm(forms.Form):
    """`wanted`, after it was found valid: the definition it asks for, over `now` (None: a new topic)."""

    def __init__(self, now: Topic | None, data: Any = None, *, changeable: bool = True) -> None:
        start = definition_json(now) if now else defaults()
        super().__init__(data, initial={each.name: start[each.name] for each in FIELDS})
        self.now = now
        self.wanted: Topic | None = None
        for field in FIELDS:
            if now and field.name in (NOT_OF_STREAMS if now.is_stream else ONLY_OF_STREAMS):
                continue  # it stays as it is
            made = self.fields[field.name] = _form_field(field)
            made.disabled = not changeable or (now is not None and field.fixed)
        if changeable:
            self.fields["reason"] = forms.CharField(
                label=_("Reason"), max_length=500, required=False, widget=UnfoldAdminTextInputWidget(),
                help_text=_("It is kept in the history, and in the audit."),
            )  # fmt: skip

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        values = {each.name: given[each.name] for each in FIELDS if each.name in given}
        if not self.errors:
            try:
                self.wanted = wanted_topic(values, self.now)
            except InvalidDefinition as error:
                for name, problem in error.problems.items():
                    self.add_error(name, problem)
        return given

    @property
    def sets(self) -> list[tuple[Any, dict[str, Any]]]:
        """For the admin's layout."""
        placed = {name for _title, names in SETS for name in names}
        others = [name for name in self.fields if name not in placed]
        found = [(title, [name for name in names if name in self.fields]) for title, names in SETS]
        return [(title, {"fields": names}) for title, names in [*found, (_("More"), others)]]


def _form_field(field: Field) -> forms.Field:
    about: dict[str, Any] = {"label": field.label, "help_text": field.help, "required": False}
    needed = about | {"required": True}
    match field.input:
        case "name":
            return forms.CharField(**needed, widget=UnfoldAdminTextInputWidget(), strip=False)
        case "choice":
            return forms.ChoiceField(**needed, choices=field.options, widget=UnfoldAdminSelectWidget())
        case "flag":
            return forms.BooleanField(**about, widget=UnfoldBooleanSwitchWidget())
        case "text":
            return forms.CharField(**about, widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}))
        case "line":
            return forms.CharField(**about, widget=UnfoldAdminTextInputWidget(), strip=False)
        case "duration":
            needed["label"] = f"{field.label} (ms)"
    return forms.IntegerField(
        **needed, min_value=field.low, max_value=field.high, widget=UnfoldAdminIntegerFieldWidget()
    )


def seal(wanted: Topic, version: int, created_ms: int) -> str:
    """Of the plan that somebody was shown: what is saved is that, or it is shown anew."""
    said: Mapping[str, Any] = definition_json(wanted)
    return hashlib.sha256(json.dumps([said, version, created_ms], sort_keys=True, default=str).encode()).hexdigest()
