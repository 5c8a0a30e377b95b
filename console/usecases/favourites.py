"""Favourite topics: starred by one person, for that person."""

from __future__ import annotations

from django.utils.translation import gettext

from console.access import Permission, User, require
from console.errors import BadRequest
from console.kept import owner_of
from console.models import Favourite

FAVOURITES_MOST = 200


def star(user: User, topic: str) -> None:
    """Raises `Forbidden`, `BadRequest` (too many)."""
    require(user, Permission.VIEW, topic)
    mine = Favourite.objects.filter(owner=owner_of(user))
    if mine.exclude(topic=topic).count() >= FAVOURITES_MOST:
        raise BadRequest(gettext("There are too many favourites; take one away first."))
    Favourite.objects.get_or_create(owner=owner_of(user), topic=topic)


def unstar(user: User, topic: str) -> None:
    """Raises `Forbidden`."""
    require(user, Permission.VIEW, topic)
    Favourite.objects.filter(owner=owner_of(user), topic=topic).delete()
