"""How times and numbers are written for somebody (decision 330 says whose a row is)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.utils import timezone

from console.access import User
from console.kept import owner_of
from console.models import Preferences
from console.zones import zone_of


def preferences_of(user: User) -> Preferences:
    """As they were chosen; of who has chosen nothing, and of nobody, all are empty."""
    if not user.is_authenticated:
        return Preferences()
    owner = owner_of(user)
    return Preferences.objects.filter(owner=owner).first() or Preferences(owner=owner)


def as_json(preferences: Preferences) -> dict[str, str]:
    return {"time_zone": preferences.time_zone, "numbers": preferences.numbers}


@contextmanager
def in_zone_of(user: User) -> Iterator[bool]:
    """Django writes and reads times in the zone that somebody has chosen; gives whether there is one."""
    chosen = preferences_of(user).time_zone
    zone = zone_of(chosen) if chosen else None
    if zone is None:
        yield False
        return
    with timezone.override(zone):
        yield True


def rendered(response: Any) -> Any:
    """An answer of Django's admin, written now: later another zone would hold."""
    if hasattr(response, "render") and not response.is_rendered:
        response.render()
    return response
