"""Screens: made, and given a link that lasts for months and can be revoked."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext

from console.access import Action, require
from console.errors import BadRequest, InvalidField, NameTaken, UnknownScreen
from console.models import Screen
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason
from console.usecases.meanwhile import clean_fields, removed, unchanged

FIELDS = ("title", "panels", "rotate_s", "theme")
LINK = ("digest", "link_made_at", "link_until", "link_by")
DAYS_DEFAULT, DAYS_MOST = 180, 730
SCREENS_MOST = 200


def put(actor: Actor, screen: Screen, reason: str = "") -> Screen:
    """Save a screen, a new one or a changed one. Raises `Forbidden`, `InvalidField`, `NameTaken`, `ChangedMeanwhile`,
    `BadRequest`."""
    query = {"screen": screen.name, **{name: getattr(screen, name) for name in FIELDS}}
    with audited(actor, Action.SCREEN, query=query, reason=reason) as entry:
        require(actor.user, Action.SCREEN, "")
        check_reason(reason)
        clean_fields(screen, "digest")
        if screen.pk is None and Screen.objects.count() >= SCREENS_MOST:
            raise BadRequest(gettext("There are too many screens."))
        screen.username = actor.user.get_username()[:150]
        new = screen.pk is None
        if not new and not Screen.objects.filter(pk=screen.pk).exists():
            raise _unknown()
        with unchanged(screen, NameTaken("screen_exists", gettext("There is a screen of this name already."))):
            if new:
                screen.save()
            else:
                _change(screen, ("name", *FIELDS, "username"))
        entry.done = 1
    return screen


def add_panel(actor: Actor, screen: Screen, line: str) -> Screen:
    """Put something more on its last page. Raises `Forbidden`, `BadRequest`."""
    screen.panels = f"{screen.panels.rstrip()}\n{line.strip()}".strip()
    try:
        return put(actor, screen)
    except InvalidField as error:  # not by the name of a field that nobody has filled in
        raise BadRequest(str(error)) from None


def remove(actor: Actor, screen: Screen, reason: str) -> None:
    """Delete it; its link is worth nothing any more. Raises `Forbidden`, `BadRequest`, `UnknownScreen`."""
    query = {"screen": screen.name, "delete": True, **{name: getattr(screen, name) for name in FIELDS}}
    with audited(actor, Action.SCREEN, query=query, reason=reason) as entry:
        require(actor.user, Action.SCREEN, "")
        check_reason(reason, needed=True)
        if not removed(screen):
            raise _unknown()
        entry.done = 1


def make_link(actor: Actor, screen: Screen, days: int = DAYS_DEFAULT, reason: str = "") -> str:
    """The secret of a new link, which is told once; the one before it ends. Raises `Forbidden`, `BadRequest`."""
    query = {"screen": screen.name, "link": True, "days": days}
    with audited(actor, Action.SCREEN_LINK, query=query, reason=reason) as entry:
        require(actor.user, Action.SCREEN_LINK, "")
        check_reason(reason)
        secret = secrets.token_urlsafe(24)
        screen.digest = digest_of(secret)
        screen.link_made_at = timezone.now()
        screen.link_until = screen.link_made_at + timedelta(days=days)
        screen.link_by = actor.user.get_username()[:150]
        _change(screen, LINK)
        entry.done = 1
    return secret


def revoke(actor: Actor, screen: Screen, reason: str = "") -> Screen:
    """End its link: whoever looks by it sees nothing more, within seconds. Raises `Forbidden`, `BadRequest`."""
    with audited(actor, Action.SCREEN_LINK, query={"screen": screen.name, "revoke": True}, reason=reason) as entry:
        require(actor.user, Action.SCREEN_LINK, "")
        check_reason(reason)
        screen.digest = screen.link_until = screen.link_made_at = None
        screen.link_by = ""
        _change(screen, LINK)
        entry.done = 1
    return screen


def _change(screen: Screen, names: Iterable[str]) -> None:
    """These and nothing else: since it was read, somebody may have revoked its link, or deleted it. Raises
    `UnknownScreen`."""
    if not Screen.objects.filter(pk=screen.pk).update(**{name: getattr(screen, name) for name in names}):
        raise _unknown()


def find(name: str) -> Screen:
    """Raises `UnknownScreen`."""
    found = Screen.objects.filter(name=name).first()
    if found is None:
        raise _unknown()
    return found


def _unknown() -> UnknownScreen:
    return UnknownScreen(gettext("There is no such screen."))


def by_secret(secret: str) -> Screen | None:
    """The screen that a link leads to; None for one that was revoked, has ended or never was."""
    return Screen.objects.filter(digest=digest_of(secret), link_until__gt=timezone.now()).first()


def digest_of(secret: str) -> str:
    """What is kept of a link."""
    return hashlib.sha256(b"screen " + secret.encode()).hexdigest()
