"""Who has come by single sign-on, and is asked for again: two tabs, clocks that were ahead, sessions from before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, User

from console.clock import now_ms
from console.models import SsoAccount
from console.sso import people, provider
from console.sso.options import options
from console.sso.provider import Refused, Renewed
from console.sso.sealing import unseal

HOUR_MS = 3_600_000


@pytest.fixture
def person(db: None, settings: Any) -> Iterator[User]:
    """Signed in, and to be asked for."""
    Group.objects.get_or_create(name="Viewer")
    about = {"issuer": "https://idp", "client_id": "us", "client_secret": "s", "default_role": "Viewer"}
    settings.RMQ_SSO = about
    user = User.objects.create_user("ann")
    sign_in(user, "first")
    SsoAccount.objects.update(checked_ms=now_ms() - HOUR_MS)
    yield user


def sign_in(user: User, refresh: str) -> None:
    sso = options()
    assert sso is not None
    people.remember(user, {"sub": "1"}, refresh, "", sso)


def answering(monkeypatch: pytest.MonkeyPatch, *, first: Any = None, refused: bool = False) -> list[str]:
    """The provider; `first`: what happens meanwhile. Returns what it is asked with."""
    asked: list[str] = []

    def renew(sso: Any, refresh: str) -> Renewed:
        asked.append(refresh)
        if first:
            first()
        if refused:
            raise Refused("400 invalid_grant")
        return Renewed({"sub": "1"}, f"after {refresh}", "")

    monkeypatch.setattr(provider, "renew", renew)
    return asked


@pytest.mark.parametrize("refused", [False, True])
def test_who_signs_in_anew_meanwhile_keeps_what_is_new(
    person: User, monkeypatch: pytest.MonkeyPatch, refused: bool
) -> None:
    answering(monkeypatch, first=lambda: sign_in(person, "second"), refused=refused)
    assert people.still_there(person)
    row = SsoAccount.objects.get()
    assert (unseal(row.refresh), row.ended) == ("second", False)


def test_a_clock_that_was_ahead_puts_off_nothing(person: User, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answering(monkeypatch)
    SsoAccount.objects.update(checked_ms=now_ms() + 365 * 24 * HOUR_MS)
    assert people.still_there(person) and people.still_there(person)
    assert asked == ["first"]


def test_a_session_that_was_ended_does_not_come_back(person: User, monkeypatch: pytest.MonkeyPatch) -> None:
    before = person.get_session_auth_hash()
    answering(monkeypatch, refused=True)
    assert not people.still_there(person)
    sign_in(person, "second")
    person.refresh_from_db()
    assert people.still_there(person) and person.get_session_auth_hash() != before
