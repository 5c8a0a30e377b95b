"""JSON that is typed into a form, read as strictly as what comes over REST."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput
from django.utils.translation import gettext
from unfold.widgets import UnfoldAdminTextareaWidget

from console.json_input import NotJson, read_json


class StrictJSONField(forms.JSONField):
    """Django's fails on what it can neither read nor show again, such as a number of 5,000 digits."""

    def __init__(self, *, rows: int = 8, **options: Any) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": rows, "spellcheck": "false"})
        widget.attrs["class"] = f"font-mono {widget.attrs['class']}"
        super().__init__(widget=widget, encoder=_Indented, **options)

    def to_python(self, value: Any) -> Any:
        if self.disabled or value in self.empty_values or not isinstance(value, str):
            return super().to_python(value)
        try:
            return read_json(value.encode(errors="surrogatepass"))
        except NotJson as problem:
            raise ValidationError(gettext("This %(problem)s.") % {"problem": problem}, code="invalid") from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        """As it was typed."""
        return initial if self.disabled else None if data is None else InvalidJSONInput(data)


class _Indented(json.JSONEncoder):
    """As people read it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**(options | {"indent": 1}))
