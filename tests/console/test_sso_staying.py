"""Who has come by single sign-on, and is asked for again: two tabs, clocks that were ahead, sessions from before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests
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


class Provider:
    """Answers of a provider, by address: a status and what is said; none: it does not answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.about: dict[str, Any] = {
            "issuer": "https://idp",
            "token_endpoint": "https://idp/token",
            "userinfo_endpoint": "https://idp/me",
        }
        self.says: dict[str, tuple[int, Any]] = {"/token": (200, self.token()), "/me": (200, {"sub": "1"})}
        self.asked: list[str] = []
        monkeypatch.setattr(provider, "_known", {})
        monkeypatch.setattr(requests, "request", self.request)

    def token(self, **more: Any) -> dict[str, Any]:
        return {"access_token": "a", "refresh_token": "rotated", **more}

    def request(self, method: str, address: str, **how: Any) -> requests.Response:
        path = address.removeprefix("https://idp")
        if path == "/token":
            self.asked.append(how["data"]["refresh_token"])
        status, said = self.says.get(path, (200, self.about))
        answer = requests.Response()
        answer.status_code, answer._content = status, json.dumps(said).encode()
        return answer


@pytest.mark.parametrize("gone", [{"issuer"}, {"token_endpoint"}, {"userinfo_endpoint", "issuer"}])
def test_a_provider_that_does_not_say_where_its_doors_are_is_away(
    person: User, monkeypatch: pytest.MonkeyPatch, gone: set[str]
) -> None:
    idp = Provider(monkeypatch)
    whole = idp.about
    idp.about = {name: said for name, said in whole.items() if name not in gone}
    assert people.still_there(person)
    idp.about = whole
    SsoAccount.objects.update(checked_ms=now_ms() - HOUR_MS)
    assert people.still_there(person)
    assert idp.asked == ["first"], "it is asked as soon as it says so, not ten minutes later"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500])
def test_who_may_not_ask_where_the_doors_are_knows_nothing_of_a_person(
    person: User, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    idp = Provider(monkeypatch)
    idp.says["/.well-known/openid-configuration"] = status, {"error": "not from here"}
    assert people.still_there(person)
    assert not idp.asked


@pytest.mark.parametrize("wrong", ["/me", "id_token"])
def test_a_token_that_came_is_kept_where_what_comes_after_it_fails(
    person: User, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    """A provider that gives each token once takes the old one for a thief's."""
    idp = Provider(monkeypatch)
    if wrong == "/me":
        idp.says["/me"] = 503, {}
    else:
        idp.says["/token"] = 200, idp.token(id_token="no token")
    assert people.still_there(person)
    idp.says |= {"/me": (200, {"sub": "1"}), "/token": (200, idp.token())}
    SsoAccount.objects.update(checked_ms=now_ms() - HOUR_MS)
    assert people.still_there(person)
    assert idp.asked == ["first", "rotated"]
