"""Making, checking and ending API tokens. A secret is 256 random bits, so a plain digest is enough to keep."""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from datetime import timedelta

from django.db import DatabaseError, transaction
from django.db.models import Q
from django.utils import timezone

from console.models import ApiToken

SCHEME = "rmq"
SECRET_BYTES = 32
DAYS_DEFAULT = 90
DAYS_MAX = 732
NOTED_EVERY = timedelta(minutes=1)
"""How exact `last_used_at` is: each use would be a write otherwise."""


class TokenRefused(Exception):
    """A secret that opens nothing: `code` is a word for programs, the text says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def new_secret() -> tuple[str, str]:
    """A secret to show once, and the part of it that may be shown always."""
    prefix = f"{SCHEME}_{secrets.token_hex(4)}"
    return f"{prefix}_{secrets.token_urlsafe(SECRET_BYTES)}", prefix


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def give_secret(token: ApiToken) -> str:
    """Fill in a new token's prefix and digest; returns the secret, which nobody can get again."""
    secret, token.prefix = new_secret()
    token.digest = digest_of(secret)
    return secret


def check(secret: str, address: str | None) -> ApiToken:
    """The token behind a secret; raises `TokenRefused`."""
    token = ApiToken.objects.filter(digest=digest_of(secret)).first()
    if token is None:
        raise TokenRefused("invalid_token", "This token is not known here.")
    if token.state == ApiToken.State.REVOKED:
        raise TokenRefused("token_revoked", f"The token {token.prefix}… was revoked; ask an administrator for another.")
    if token.state == ApiToken.State.EXPIRED:
        raise TokenRefused("token_expired", f"The token {token.prefix}… has expired; ask an administrator for another.")
    _note_use(token, address)
    return token


def revoke(token: ApiToken) -> bool:
    """End a token now; False when it had ended so already."""
    return bool(ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()))


def _note_use(token: ApiToken, address: str | None) -> None:
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > NOTED_EVERY:
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - NOTED_EVERY)
        # On a full disk who only reads goes on.
        with suppress(DatabaseError), transaction.atomic():
            ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now, last_used_from=address)
