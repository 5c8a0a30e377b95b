"""Who calls: the holder of a bearer token, or somebody signed in in a browser."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest
from ninja.utils import check_csrf

from console.access import Action, Permission, TokenUser, User, allowed, in_scope, require
from console.api.http.errors import ApiError, unauthorized
from console.usecases import tokens
from console.usecases.actor import Actor

BY_TOKEN, BY_SESSION = "rest", "page"
"""How the audit names the two ways in: programs, and people in a browser."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Caller:
    """Somebody known. `key` tells callers apart; `rate_per_minute` 0: no limit."""

    user: User
    key: str
    address: str | None
    rate_per_minute: int = 0

    @property
    def actor(self) -> Actor:
        """For actions and the audit."""
        return Actor(self.user, self.address, BY_TOKEN if isinstance(self.user, TokenUser) else BY_SESSION)

    @property
    def person(self) -> bool:
        """Somebody signed in; not the holder of a token."""
        return not isinstance(self.user, TokenUser)

    @property
    def payload(self) -> bool:
        return allowed(self.user, Permission.READ_PAYLOAD)

    def require(self, what: Permission | Action, topic: str | None = None) -> None:
        """Raises `Forbidden`."""
        require(self.user, what, topic)

    def sees(self, topic: str) -> bool:
        """Whether lists show a topic to this caller."""
        return in_scope(self.user, topic)


def caller_of(request: HttpRequest) -> Caller:
    """Who the gate let in."""
    caller: Caller = request.caller  # type: ignore[attr-defined]
    return caller


def identify(request: HttpRequest) -> Caller | None:
    """Who sent a request; None without credentials. Raises `ApiError` for bad ones."""
    address = _address(request)
    given = request.headers.get("Authorization")
    if given is not None:
        scheme, _, secret = given.partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise unauthorized("invalid_token", "Authorization must be: Bearer, a blank, and an API token.")
        try:
            token = tokens.check(secret.strip(), address)
        except tokens.TokenRefused as error:
            raise unauthorized(error.code, str(error)) from None
        return Caller(token.as_user(), f"token:{token.pk}", address, token.rate_per_minute)
    if not request.user.is_authenticated:
        return None
    if request.method not in SAFE and check_csrf(request):
        raise ApiError(403, "csrf", "With a session, send the CSRF token as X-CSRFToken; or use a bearer token.")
    return Caller(request.user, f"user:{request.user.pk}", address)


def still_there(request: HttpRequest) -> Caller:
    """The caller again, as things are now: for what was asked for some time ago. Raises `ApiError`."""
    if request.headers.get("Authorization") is None:
        now = HttpRequest()
        now.session = import_module(settings.SESSION_ENGINE).SessionStore(request.session.session_key)
        user = get_user(now)  # also of a session that has ended by its time, or by another password
        if user.pk != request.user.pk or not user.is_active:
            raise unauthorized("unauthorized", "You are signed out; sign in again.")
        request.user = user
    found = identify(request)
    if found is None:
        raise unauthorized("unauthorized", "You are signed out; sign in again.")
    return found


def _address(request: HttpRequest) -> str | None:
    try:
        return str(ipaddress.ip_address(request.META.get("REMOTE_ADDR") or ""))
    except ValueError:
        return None  # a unix socket
