"""What people keep to come back to, as they see it: saved views and favourite topics (decision 330)."""

from __future__ import annotations

from django.db.models import Q

from console.access import EVERY_TOPIC, TokenUser, User, in_scope, split_patterns, topics_of
from console.models import Favourite, SavedView

SHARED = ""


def owner_of(user: User) -> str:
    """By which one's own are found: nobody else ever has the same."""
    return f"token:{user.prefix}" if isinstance(user, TokenUser) else f"user:{user.pk}"


def views_of(user: User) -> list[SavedView]:
    """One's own and the shared ones, by name, of topics one may deal with."""
    found = SavedView.objects.filter(Q(owner=owner_of(user)) | Q(owner=SHARED))
    return [each for each in found if sees(user, each)]


def sees(user: User, view: SavedView) -> bool:
    """A shared view of no topic may name any that its saver was for."""
    if view.topic:
        return in_scope(user, view.topic)
    mine = topics_of(user)
    return view.owner != SHARED or EVERY_TOPIC in mine or set(split_patterns(view.patterns)) <= set(mine)


def favourites_of(user: User) -> list[str]:
    """By name; those that somebody may not deal with (any more) are left out."""
    found = Favourite.objects.filter(owner=owner_of(user)).values_list("topic", flat=True)
    return [topic for topic in found if in_scope(user, topic)]
