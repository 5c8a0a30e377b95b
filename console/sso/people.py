"""Whoever has come by single sign-on: remembered, asked for again after a while, ended when the provider says no."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from console.clock import now_ms
from console.models import AuditEntry, SsoAccount
from console.sso import provider
from console.sso.claims import give_groups
from console.sso.options import Sso, options
from console.sso.sealing import seal, unseal
from console.usecases.audit import note
from console.usecases.people import By, edits

log = logging.getLogger("console.sso")

RETRY_MS = 60_000
"""Where the provider is away, people go on, and it is asked again so much later."""


def by(sso: Sso) -> By:
    """Who gives and takes roles by what the provider claims."""
    return By(sso.name, via="sso")


def remember(user: Any, claims: Mapping[str, Any], refresh: str, id_token: str, sso: Sso) -> None:
    """Somebody has just signed in."""
    with edits(by(sso), user):
        if not user.is_staff:  # what Django's admin asks for; what they may do comes from the groups
            user.is_staff = True
            user.save(update_fields=["is_staff"])
        give_groups(user, claims, sso)
    fields = {"subject": str(claims["sub"])[:255], "refresh": seal(refresh), "id_token": seal(id_token)}
    SsoAccount.objects.update_or_create(user=user, defaults=fields | {"checked_ms": now_ms(), "ended": False})


def still_there(user: Any) -> bool:
    """Whether somebody who has signed in so may go on. Asks the provider now and then, one request for all."""
    row, sso = SsoAccount.objects.filter(user=user).first(), options()
    if row is None or row.ended or sso is None:
        return False
    now = now_ms()
    if not row.refresh or 0 <= now - row.checked_ms < sso.renew_ms:  # below 0: the clock was ahead
        return True
    mine = SsoAccount.objects.filter(pk=row.pk, checked_ms=row.checked_ms)
    if not mine.update(checked_ms=now):
        return True  # another request asks
    try:
        found = provider.renew(sso, unseal(row.refresh))
    except provider.Refused as error:
        return _ended(user, row, str(error))
    except provider.Away as error:
        log.warning("the provider of single sign-on is away, and %s goes on: %s", user.get_username(), error)
        SsoAccount.objects.filter(pk=row.pk).update(checked_ms=now - sso.renew_ms + min(RETRY_MS, sso.renew_ms))
        if error.refresh:
            _still_that_of(row).update(refresh=seal(error.refresh))
        return True
    if str(found.claims.get("sub")) != row.subject:
        return _ended(user, row, "it tells of somebody else")
    with edits(by(sso), user):
        has_roles = give_groups(user, found.claims, sso)
    if not has_roles:
        return _ended(user, row, "no role is left")
    tokens = {"refresh": seal(found.refresh), "id_token": seal(found.id_token) or row.id_token}
    _still_that_of(row).update(**tokens)
    return True


def _still_that_of(row: SsoAccount) -> QuerySet[SsoAccount]:
    """Nothing where they have signed in anew while the provider was asked about the time before."""
    return SsoAccount.objects.filter(pk=row.pk, refresh=row.refresh)


def _ended(user: Any, row: SsoAccount, why: str) -> bool:
    if not _still_that_of(row).update(ended=True, refresh="", id_token=""):
        return SsoAccount.objects.filter(pk=row.pk, ended=False).exists()
    if not user.has_usable_password():  # another one ends every session there is: none comes back with the next sign-in
        user.set_unusable_password()
        user.save(update_fields=["password"])
    log.warning("%s was signed out by the provider: %s", user.get_username(), why)
    detail = {"error": "signed out by the provider"}
    note("sign_in", username=user.get_username(), user=user, result=AuditEntry.Result.REFUSED, detail=detail)
    return False
