"""Fields that hand out what is in the database even where that is not what it should be."""

from __future__ import annotations

import json
import logging
from typing import Any

from django.db import models
from django.db.models.expressions import Col

from rmq_core.model.text import cleaned, shown

log = logging.getLogger("console.models")

SHOWN_MOST = 1_000
UNREADABLE = "(unreadable)"


class JSONField(models.JSONField):
    """Django's, and one row that holds something else does not keep a page from the others.

    What is read is of the type of the default. Where it is not, the log names the field; one of objects reads as
    `{"unreadable": …}`, one of lists as `UNREADABLE` alone, for an empty one may mean "all". What is written is what
    every kind of database can keep: PostgreSQL refuses NUL and lone surrogates.
    """

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        if not isinstance(expression, Col):
            return super().from_db_value(value, expression, connection)
        try:
            found = super().from_db_value(value, expression, connection)
        except (ValueError, TypeError, RecursionError):
            found = value
        wanted = list if self.default is list else dict
        if isinstance(found, wanted) or (found is None and self.null):
            # An older release let anything in.
            return cleaned(found) if isinstance(value, str) and "\\u" in value else found
        words = shown(value if isinstance(value, str | bytes) else json.dumps(value), SHOWN_MOST)
        log.warning("a row of %s has a %s that cannot be read: %s", self.model._meta.label, self.name, words)
        return [UNREADABLE] if wanted is list else {"unreadable": words}

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        plain = isinstance(value, dict | list | str)
        return super().get_db_prep_save(cleaned(value) if plain else value, connection)

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs  # the column is the same
