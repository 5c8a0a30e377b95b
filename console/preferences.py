"""How times and numbers are written for somebody (decision 330 says whose a row is)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

from django.utils import timezone

from console.access import User
from console.kept import owner_of
from console.models import Preferences
from console.zones import zone_of
from rmq_core.figures import separated

SEPARATORS = {"1,234.5": (",", "."), "1.234,5": (".", ","), "1 234,5": ("\u202f", ",")}
"""Of thousands and of a fraction, by how 1234.5 is written; the same as in `core/format.js`."""


def preferences_of(user: User) -> Preferences:
    """As they were chosen; of who has chosen nothing, and of nobody, all are empty."""
    if not user.is_authenticated:
        return Preferences()
    owner = owner_of(user)
    return Preferences.objects.filter(owner=owner).first() or Preferences(owner=owner)


def as_json(preferences: Preferences) -> dict[str, str]:
    return {"time_zone": preferences.time_zone, "numbers": preferences.numbers}


def numbers_of(preferences: Preferences) -> AbstractContextManager[None]:
    """Sentences that are made inside have their numbers as they were chosen."""
    separators = SEPARATORS.get(preferences.numbers)
    return separated(*separators) if separators else nullcontext()


@contextmanager
def as_chosen_by(user: User) -> Iterator[bool]:
    """That, and Django writes and reads times in the zone that somebody has chosen; gives whether anything is."""
    chosen = preferences_of(user)
    zone = zone_of(chosen.time_zone) if chosen.time_zone else None
    with ExitStack() as stack:
        stack.enter_context(numbers_of(chosen))
        if zone is not None:
            stack.enter_context(timezone.override(zone))
        yield zone is not None or bool(chosen.numbers)


def rendered(response: Any) -> Any:
    """An answer of Django's admin, written now: later another zone would hold, and other numbers."""
    if hasattr(response, "render") and not response.is_rendered:
        response.render()
    return response
