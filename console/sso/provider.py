"""Asking the provider: where its doors are, and whether somebody is still there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt
import requests

from console.sso.options import Sso

TIMEOUT_S = 5
KNOWN_FOR_S = 600
DOORS = ("issuer", "token_endpoint", "userinfo_endpoint")
_known: dict[str, tuple[float, dict[str, Any]]] = {}


class Refused(Exception):
    """The provider says no: they are gone, or may no more."""


class Away(Exception):
    """The provider does not answer, or not as it should. `refresh`: what it had given by then for the next time."""

    refresh = ""


@dataclass(frozen=True)
class Renewed:
    """What it says of somebody now; `refresh`: for the next time."""

    claims: Mapping[str, Any]
    refresh: str
    id_token: str


def renew(sso: Sso, refresh: str) -> Renewed:
    """Raises `Refused`, `Away`."""
    given = {"grant_type": "refresh_token", "refresh_token": refresh}
    about = discovered(sso)
    methods = about.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    basic = (sso.client_id, sso.client_secret) if "client_secret_post" not in methods else None
    if basic is None:
        given |= {"client_id": sso.client_id, "client_secret": sso.client_secret}
    answer = _ask("POST", about["token_endpoint"], data=given, auth=basic)
    access, id_token = answer.get("access_token"), answer.get("id_token") or ""
    if not access:
        raise Away("it gave no token")
    refresh = answer.get("refresh_token") or refresh
    try:
        known = _ask("GET", about["userinfo_endpoint"], headers={"Authorization": f"Bearer {access}"})
        return Renewed(_decoded(sso, about, id_token) | known, refresh, id_token)
    except Away as away:  # the one before may be worth nothing any more
        away.refresh = refresh
        raise


def discovered(sso: Sso) -> dict[str, Any]:
    """What the provider says of itself. Raises `Away`, also where it refuses: it is not of anybody that it is asked."""
    at, found = _known.get(sso.issuer, (0.0, {}))
    if not found or time.monotonic() - at > KNOWN_FOR_S:
        try:
            found = _ask("GET", f"{sso.issuer.rstrip('/')}/.well-known/openid-configuration")
        except Refused as error:
            raise Away(f"it does not say where its doors are: {error}") from None
        if missing := sorted(name for name in DOORS if not isinstance(found.get(name), str)):
            raise Away(f"it does not say its {', '.join(missing)}")
        _known[sso.issuer] = time.monotonic(), found
    return found


def _decoded(sso: Sso, about: Mapping[str, Any], id_token: str) -> dict[str, Any]:
    """It came from the provider itself, over TLS, so its signature may go unlooked at (OpenID Connect Core 3.1.3.7)."""
    if not id_token:
        return {}
    try:
        options: Any = {"verify_signature": False, "verify_iss": True, "verify_aud": True, "verify_exp": True}
        return dict(jwt.decode(id_token, options=options, issuer=about["issuer"], audience=sso.client_id))
    except jwt.PyJWTError as error:
        raise Away(f"its token is not for us: {error}") from None


def _ask(method: str, address: str, **how: Any) -> dict[str, Any]:
    try:
        answer = requests.request(method, address, timeout=TIMEOUT_S, allow_redirects=False, **how)
        if 400 <= answer.status_code < 500 and answer.status_code not in (404, 408, 429):
            raise Refused(f"{answer.status_code} {answer.text[:200]}")
        answer.raise_for_status()
        found = answer.json()
    except (requests.RequestException, ValueError) as error:
        raise Away(f"{type(error).__name__} of {address}") from None
    if not isinstance(found, dict):
        raise Away(f"no object from {address}")
    return found
