"""Whoever writes all of a row writes over what was read, not over what somebody else has written since."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from console.errors import ChangedMeanwhile


@contextmanager
def unchanged(row: Any) -> Iterator[None]:
    """A transaction in which a row may be written: it is as it was read, or new. Raises `ChangedMeanwhile`."""
    with transaction.atomic():
        if row.pk is not None:
            now = timezone.now()
            if not type(row).objects.filter(pk=row.pk, changed=row.changed).update(changed=now):
                raise ChangedMeanwhile(sentence())
            row.changed = now
        yield


def sentence() -> str:
    """What is said to whoever came later."""
    return gettext("Somebody else has changed this meanwhile, or deleted it: open it again.")
