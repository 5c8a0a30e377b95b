"""Passwords that people set, for others or for themselves, get into the audit: that they did, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.http import HttpRequest, HttpResponse

from console.site import site
from console.usecases.people import By, note_password


def by(request: HttpRequest) -> By:
    """Who asks by a form of the admin."""
    return By.person(request.user, request.META.get("REMOTE_ADDR") or None)


@contextmanager
def note_new_password(request: HttpRequest, key: Any) -> Iterator[None]:
    """Notes that the block has set the password of the user with that key, where it has."""
    if request.method != "POST":
        yield
        return
    with transaction.atomic():
        before = _stored(key)
        yield
        after = _stored(key)
        if before and after and before.password != after.password:
            note_password(by(request), after)


def own_password(request: HttpRequest) -> HttpResponse:
    """Django's page for one's own."""
    with note_new_password(request, request.user.pk):
        answer: HttpResponse = site.admin_view(site.password_change, cacheable=True)(request)
        return answer


def _stored(key: Any) -> Any:
    people = get_user_model()
    try:
        return people._default_manager.filter(pk=key).first()
    except (ValueError, OverflowError):  # no key at all, which the page will say
        return None
