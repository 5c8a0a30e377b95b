"""Whoever writes all of a row writes over what was read, not over what somebody else has written since."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext

from console.errors import ChangedMeanwhile, InvalidField, NameTaken
from console.outbox.claiming import write_lock


@contextmanager
def unchanged(row: Any, taken: NameTaken | None = None) -> Iterator[None]:
    """A transaction in which a row may be written: it is as it was read, or new. Raises `ChangedMeanwhile`, and
    ``taken`` where there is another one of its name."""
    known = row.pk
    try:
        with transaction.atomic():
            if known is not None:
                now = timezone.now()
                if not type(row).objects.filter(pk=known, changed=row.changed).update(changed=now):
                    raise ChangedMeanwhile(sentence())
                row.changed = now
            yield
    except IntegrityError as error:  # also where two make one of the same name at once
        row.pk = known
        if taken is not None and type(row).objects.filter(name=row.name).exclude(pk=known).exists():
            raise taken from error
        raise ChangedMeanwhile(sentence()) from error


def removed(row: Any) -> bool:
    """Delete a row. Whether it was there: of several who do so at once one has done it. Raises `ChangedMeanwhile` where
    somebody has written it since it was read: nobody has seen that who wants it gone."""
    rows = type(row).objects.filter(pk=row.pk)
    with transaction.atomic():
        write_lock(rows)
        # What refers to it goes with it: nobody may begin to after that was looked for.
        there = rows.select_for_update().first()
        if there is None:
            return False
        if getattr(there, "changed", None) != getattr(row, "changed", None):
            raise ChangedMeanwhile(sentence())
        there.delete()
    return True


def clean_fields(row: Any, *but: str) -> None:
    """Whether each value can be, but for those of some fields. Raises `InvalidField`."""
    try:
        row.clean_fields(exclude=["id", *but])
    except ValidationError as error:
        field, problems = next(iter(error.message_dict.items()))
        raise InvalidField(field, problems[0]) from None


def sentence() -> str:
    """What is said to whoever came later."""
    return gettext("Somebody else has changed this meanwhile, or deleted it: open it again.")
