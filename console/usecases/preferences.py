"""Preferences: chosen by one person, for that person."""

from __future__ import annotations

from django.utils.translation import gettext

from console.access import User
from console.errors import BadRequest
from console.kept import owner_of
from console.models import Preferences
from console.models.preferences import NUMBERS
from console.zones import zone_of


def put(user: User, time_zone: str, numbers: str) -> Preferences:
    """Keep what was chosen instead of what was; "": the browser's zone, the language's numbers. Raises `BadRequest`."""
    if time_zone and zone_of(time_zone) is None:
        words = gettext("There is no time zone “%(name)s”: give one such as Europe/Berlin, or none for the browser's.")
        raise BadRequest(words % {"name": time_zone})
    if numbers and numbers not in NUMBERS:
        raise BadRequest(gettext("Numbers are written in one of these ways: %(ways)s") % {"ways": " · ".join(NUMBERS)})
    values = {"time_zone": time_zone, "numbers": numbers}
    return Preferences.objects.update_or_create(owner=owner_of(user), defaults=values)[0]
