"""Which console this database is."""

from __future__ import annotations

from uuid import uuid4

from django.db import models


class Installation(models.Model):
    """One row, made when it is first asked for: a mark that no other console's database has."""

    mark = models.CharField(max_length=32)

    class Meta:
        default_permissions = ()


def own_mark() -> str:
    """The mark of this console's database."""
    row, _ = Installation.objects.get_or_create(pk=1, defaults={"mark": uuid4().hex})
    return row.mark
