"""What single sign-on needs to know, checked at once, and the settings of Django that follow from it."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

SETTING = "RMQ_SSO"
PROVIDER = "rmq"
"""Part of the addresses: `…/rmq/login/callback/` is what the provider has to know."""
LOCAL = ("localhost", "127.0.0.1", "::1")
RENEW_LEAST_MS = 1_000


@dataclass(frozen=True)
class Sso:
    """`roles`: values of the claim `groups_claim` → groups of Django. `default_role`: of whoever signs in; "": nobody
    gets in who has none of `roles`. `renew_ms`: so often the provider is asked whether somebody is still there."""

    issuer: str
    client_id: str
    client_secret: str
    name: str = "single sign-on"
    scopes: Sequence[str] = ("openid", "profile", "email")
    groups_claim: str = "groups"
    roles: Mapping[str, str] = field(default_factory=dict)
    default_role: str = ""
    renew_ms: int = 900_000

    def __post_init__(self) -> None:
        """Raises `ValueError`."""
        parts = urlsplit(self.issuer)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError("issuer must be an address such as https://login.example.com/realms/us.")
        if parts.scheme == "http" and parts.hostname not in LOCAL:
            raise ValueError("issuer must begin with https://: what it says decides who gets in.")
        if not self.client_id or not self.client_secret:
            raise ValueError("client_id and client_secret are needed: those that the provider has given us.")
        if "openid" not in self.scopes:
            raise ValueError("scopes must have openid among them.")
        if not self.roles and not self.default_role:
            raise ValueError("roles or default_role is needed, or nobody would get in.")
        if self.renew_ms < RENEW_LEAST_MS:
            raise ValueError(f"renew_ms must be at least {RENEW_LEAST_MS}.")


def options() -> Sso | None:
    """What this project has set; None: no single sign-on. Raises `ImproperlyConfigured`."""
    given = getattr(settings, SETTING, None)
    return read(given) if given else None


def read(given: Mapping[str, Any]) -> Sso:
    """Raises `ImproperlyConfigured`, naming what is wrong."""
    try:
        return Sso(**given)
    except (TypeError, ValueError) as error:
        raise ImproperlyConfigured(f"{SETTING}: {error}") from None


def django_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that django-allauth needs for it. Raises `ImproperlyConfigured`."""
    found = read(given)
    if importlib.util.find_spec("allauth") is None:
        raise ImproperlyConfigured("Single sign-on needs the extra sso: pip install 'rmq-console[sso]'.")
    app = {
        "provider_id": PROVIDER,
        "name": found.name,
        "client_id": found.client_id,
        "secret": found.client_secret,
        "settings": {"server_url": found.issuer.rstrip("/")},
    }
    return {
        SETTING: dict(given),
        "SOCIALACCOUNT_PROVIDERS": {
            "openid_connect": {"OAUTH_PKCE_ENABLED": True, "SCOPE": list(found.scopes), "APPS": [app]}
        },
        "SOCIALACCOUNT_ADAPTER": "console.sso.adapter.Adapter",
        # A link, not a form: nothing is changed by it but who is signed in, and the answer is bound to the browser.
        "SOCIALACCOUNT_LOGIN_ON_GET": True,
        "SOCIALACCOUNT_EMAIL_AUTHENTICATION": False,
        "SOCIALACCOUNT_EMAIL_REQUIRED": False,
        "SOCIALACCOUNT_EMAIL_VERIFICATION": "none",
        "SOCIALACCOUNT_STORE_TOKENS": False,
        "ACCOUNT_EMAIL_VERIFICATION": "none",
    }


APPS = ["allauth", "allauth.account", "allauth.socialaccount", "allauth.socialaccount.providers.openid_connect"]
MIDDLEWARE = ["allauth.account.middleware.AccountMiddleware"]
BACKENDS = ["console.sso.backend.Backend"]
