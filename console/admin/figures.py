"""Numbers of rows, in lists and in forms that are only looked at, as the person has them written."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.contrib.admin import display
from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.http import HttpRequest

from console.admin.guarded import GuardedAdmin
from rmq_core.figures import number

LABELS = frozenset({"id", "version"})
"""They name something and count nothing."""


class FigureAdmin(GuardedAdmin):
    """A field that is typed into keeps its plain digits: that is what browsers read there."""

    def get_list_display(self, request: HttpRequest) -> Any:
        return _shown(self.model, super().get_list_display(request))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        found = super().get_fieldsets(request, obj)
        if obj is None or self.has_change_permission(request, obj):
            return found
        return [(title, {**about, "fields": _shown(self.model, about["fields"])}) for title, about in found]


def _shown(model: type[models.Model], names: Any) -> Any:
    return tuple(_shown(model, each) if isinstance(each, (tuple, list)) else _figure(model, each) for each in names)


@functools.cache
def _figure(model: type[models.Model], name: Any) -> Any:
    """The same name, unless it is that of a number: then what writes it."""
    try:
        field = model._meta.get_field(name) if isinstance(name, str) and name not in LABELS else None
    except FieldDoesNotExist:
        return name
    if not isinstance(field, (models.IntegerField, models.FloatField)) or field.choices:
        return name
    return _column(field)


def _column(field: models.Field[Any, Any]) -> Callable[[models.Model], str]:
    @display(description=field.verbose_name, ordering=field.name)
    def column(row: models.Model) -> str | None:  # None: as the admin shows what is empty
        value = getattr(row, field.name)
        return None if value is None else number(value)

    column.__name__ = field.name  # the column's class in the page
    return column  # type: ignore[return-value]
