"""Saved views: kept, and deleted again."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.db import IntegrityError, transaction
from django.http import QueryDict
from django.urls import Resolver404, get_script_prefix, resolve, reverse
from django.utils.translation import gettext

from console.access import Action, Permission, User, require, topics_of
from console.clock import now_ms
from console.errors import BadRequest, UnknownView, ViewExists
from console.kept import SHARED, owner_of, sees, views_of
from console.models import SavedView
from console.models.views import ADDRESS_MAX
from console.usecases.actor import Actor
from console.usecases.audit import audited
from console.usecases.meanwhile import removed

VIEWS_MOST = 200
NOT_KEPT = {"texts", "set_language", "screen", "screen-by-link"}
"""Addresses of ours that are no pages of the console."""


def save(actor: Actor, name: str, address: str, *, shared: bool = False, replace: bool = False) -> SavedView:
    """Keep a view; `address`: of a page, below the console's root. Raises `Forbidden`, `BadRequest`, `ViewExists`."""
    if not shared:
        require(actor.user, Permission.VIEW)
        return _save(actor.user, owner_of(actor.user), name, address, replace)
    with audited(actor, Action.SHARE_VIEW, query={"view": name, "address": address}) as entry:
        require(actor.user, Action.SHARE_VIEW)
        view = _save(actor.user, SHARED, name, address, replace)
        entry.topic, entry.done = view.topic, 1
    return view


def _save(user: User, owner: str, name: str, address: str, replace: bool) -> SavedView:
    name, (address, topic) = name.strip(), checked(address)
    if not name:
        raise BadRequest(gettext("Give the view a name."))
    require(user, Permission.VIEW, topic or None)
    values = {
        "address": address,
        "topic": topic,
        "patterns": " ".join(topics_of(user)),
        "username": user.get_username()[:150],
        "saved_ms": now_ms(),
    }
    there = SavedView.objects.filter(owner=owner, name=name).first()
    if there and not (replace and sees(user, there)):
        raise ViewExists(gettext("There is a view of this name already."))
    if not there and SavedView.objects.filter(owner=owner).count() >= VIEWS_MOST:
        raise BadRequest(gettext("There are too many views; delete one first."))
    view = there or SavedView(owner=owner, name=name)
    for field, value in values.items():
        setattr(view, field, value)
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError:  # somebody else was first
        raise ViewExists(gettext("There is a view of this name already.")) from None
    return view


def find(user: User, number: int) -> SavedView:
    """One's own, or a shared one. Raises `UnknownView`."""
    view = next((each for each in views_of(user) if each.pk == number), None)
    if view is None:
        raise _unknown()
    return view


def _unknown() -> UnknownView:
    return UnknownView(gettext("There is no such view."))


def remove(actor: Actor, number: int) -> None:
    """Delete one's own, or a shared one. Raises `UnknownView`, `Forbidden`."""
    view = find(actor.user, number)
    if view.owner != SHARED:
        if not removed(view):
            raise _unknown()
        return
    query = {"view": view.name, "delete": True}
    with audited(actor, Action.SHARE_VIEW, topic=view.topic, query=query) as entry:
        require(actor.user, Action.SHARE_VIEW, view.topic or None)
        if not removed(view):
            raise _unknown()
        entry.done = 1


def checked(address: str) -> tuple[str, str]:
    """An address as it is kept, and the topic it is of; "" of none. Raises `BadRequest` where it is no page of ours."""
    parts = urlsplit(address)
    query = QueryDict(parts.query).urlencode()
    kept = f"{parts.path}?{query}" if query else parts.path
    try:
        found = resolve(f"{_root()}{parts.path}")
    except Resolver404:
        found = None
    ours = found is not None and found.namespaces[-1:] == ["console"] and found.url_name not in NOT_KEPT
    if found is None or not ours or parts.scheme or parts.netloc or len(kept) > ADDRESS_MAX:
        raise BadRequest(gettext("This is no page of the console."))
    return kept, found.kwargs.get("topic", "")


def _root() -> str:
    """Of the console, as addresses are resolved: without what a proxy puts before it."""
    return "/" + reverse("console:overview").removeprefix(get_script_prefix())
