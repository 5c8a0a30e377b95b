"""The brake on guessing passwords: django-axes counts failures, and this says when whose next try may come.

- After a few failures of one name from one address, that pair waits: seconds first, then a quarter of an hour. Others
  who sign in with the name, or from the address, do not.
- Who tries many names from one address, or one name from many addresses, meets a limit for unknown callers. A pair that
  has signed in within `KNOWN_FOR` is a known one: nobody is locked out by what others do elsewhere.
- Tries that come too early are refused before the password is looked at, and count for nothing: they prolong no wait.

Failures, and the waits they cause, are in the audit. API tokens are long random texts, which no brake has to protect.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import math
import threading
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt, AccessLog
from django.contrib.auth import REDIRECT_FIELD_NAME, get_user_model
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from console.models import AuditEntry
from console.site import site
from console.sso.options import PROVIDER, options
from console.templating import render
from console.usecases.audit import note

log = logging.getLogger("console.signin")

WINDOW_S = 900
"""Failures older than this are forgotten: `AXES_COOLOFF_TIME`."""
PAIR_WAITS_S = {3: 5, 4: 20, 5: WINDOW_S}
"""After so many failures of a name from an address, the next try may come so many seconds later."""
FAILURES = max(PAIR_WAITS_S)
UNKNOWN_OF_ADDRESS = 30
UNKNOWN_OF_NAME = 50
KNOWN_FOR = timedelta(days=30)
ACTION = "sign_in"
ENTRIES_AN_HOUR = 1_000
"""What unknown callers may add to the audit; beyond, failures are only counted and logged."""
UNKNOWN_ADDRESS = "0.0.0.0"

TURN_WAIT_S = 10
_turns = [threading.Lock() for _ in range(64)]


class Brake(AxesDatabaseHandler):
    """`AXES_HANDLER`."""

    def is_locked(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        """Whether the try comes too early."""
        return wait_s(name_of(request, credentials), request.axes_ip_address, request.axes_attempt_time) > 0  # type: ignore[attr-defined]

    def user_login_failed(self, sender: Any, credentials: dict[str, Any], request: Any = None, **options: Any) -> None:
        """Count and record it, unless the password was not looked at."""
        refused = getattr(request, "axes_locked_out", False)
        super().user_login_failed(sender, credentials, request, **options)
        if request is not None and not refused:
            _record(name_of(request, credentials), request)

    def user_logged_in(self, sender: Any, request: Any, user: Any, **options: Any) -> None:
        """Remember the pair, and forget what is too old to matter."""
        super().user_logged_in(sender, request, user, **options)
        AccessLog.objects.filter(attempt_time__lt=timezone.now() - KNOWN_FOR).delete()


@contextlib.contextmanager
def turn_of(request: HttpRequest) -> Iterator[bool]:
    """Held while a password is looked at: of tries that come together from one address each would be the first.

    False where others of that address took too long.
    """
    turn = _turns[hash(address_of(request)) % len(_turns)]
    mine = turn.acquire(timeout=TURN_WAIT_S)
    try:
        yield mine
    finally:
        if mine:
            turn.release()


def sign_in(request: HttpRequest) -> HttpResponse:
    """The page for that, with the brake on."""
    context = {"sso": sso_button(request)}
    if request.method != "POST":
        return site.sign_in(request, context)
    with turn_of(request) as mine:
        return site.sign_in(request, context) if mine else too_early(request, TURN_WAIT_S)


def sso_button(request: HttpRequest) -> dict[str, str] | None:
    """Where it leads, and on to what; None where there is no single sign-on."""
    sso = options()
    if sso is None:
        return None
    onward = urlencode({"next": request.GET.get(REDIRECT_FIELD_NAME) or reverse("console:overview")})
    return {"name": sso.name, "address": f"{reverse('openid_connect_login', args=[PROVIDER])}?{onward}"}


def wait_s(name: str, address: str, now: datetime) -> int:
    """Seconds until this name may be tried from this address; 0 when it may be now."""
    since = now - timedelta(seconds=WINDOW_S)
    recent = AccessAttempt.objects.filter(attempt_time__gte=since)
    pair = list(recent.filter(username=name, ip_address=address).values_list("attempt_time", "failures_since_start"))
    failures = sum(count for _, count in pair)
    rest = 0.0
    if own := PAIR_WAITS_S.get(min(failures, FAILURES)):
        rest = own - (now - max(at for at, _ in pair)).total_seconds()
    known = AccessLog.objects.filter(username=name, ip_address=address, attempt_time__gte=now - KNOWN_FOR)
    if rest <= 0 and not known.exists():
        for limit, others in ((UNKNOWN_OF_ADDRESS, {"ip_address": address}), (UNKNOWN_OF_NAME, {"username": name})):
            rows = recent.filter(**others).order_by("attempt_time").values_list("attempt_time", "failures_since_start")
            rest = max(rest, _until_below(limit, rows, now))
    return max(0, math.ceil(rest))


def name_of(request: Any, credentials: dict[str, Any] | None) -> str:
    """`AXES_USERNAME_CALLABLE`: what was typed, as far as it can be a name; Django's form lets any length pass."""
    typed = str((credentials or {}).get("username") or "")
    return typed[: get_user_model()._meta.get_field("username").max_length]


def address_of(request: HttpRequest) -> str:
    """`AXES_CLIENT_IP_CALLABLE`: who is counted as one. A home has 2^64 addresses of IPv6, which are one here.

    It is the address of the connection, or what a proxy says of it that uvicorn trusts (FORWARDED_ALLOW_IPS).
    """
    try:
        address = ipaddress.ip_address(request.META.get("REMOTE_ADDR") or "")
    except ValueError:
        return UNKNOWN_ADDRESS  # such as a unix socket's
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address.packed, 64), strict=False).network_address)
    return str(address)


def refused(request: HttpRequest, response: Any = None, credentials: dict[str, Any] | None = None) -> HttpResponse:
    """`AXES_LOCKOUT_CALLABLE`: the page for a try that came too early, or that was one too many."""
    name = name_of(request, getattr(request, "axes_credentials", None) or credentials)
    seconds = max(1, wait_s(name, address_of(request), timezone.now()))
    return too_early(request, seconds)


def too_early(request: HttpRequest, seconds: int) -> HttpResponse:
    """Says in plain words how long to wait."""
    minutes = math.ceil(seconds / 60)
    context = site.each_context(request) | {"seconds": seconds, "minutes": minutes}
    context["address"] = request.get_full_path()
    answer = render(request, "console/signin_wait.html", context, 429)
    answer["Retry-After"] = str(seconds)
    return answer


def _until_below(limit: int, rows: Iterable[tuple[datetime, int]], now: datetime) -> float:
    """Seconds until so few failures are left in the window; the oldest rows come first."""
    rows = list(rows)
    left = sum(count for _, count in rows)
    for at, count in rows:
        if left < limit:
            break
        left -= count
        rest = WINDOW_S - (now - at).total_seconds()
        if left < limit:
            return rest
    return 0.0


def _record(name: str, request: Any) -> None:
    waits = wait_s(name, request.axes_ip_address, timezone.now())
    user = get_user_model().objects.filter(username=name).first()
    # What is no name here may be a password, typed into the wrong field.
    shown = user.get_username() if user else ""
    address = address_of(request)
    log.warning(
        "failed to sign in as %s from %s; waits %s s", repr(shown) if shown else "an unknown name", address, waits
    )
    entries = AuditEntry.objects.filter(action=ACTION, at__gte=timezone.now() - timedelta(hours=1))
    if entries.count() >= ENTRIES_AN_HOUR:
        return
    note(
        ACTION,
        username=shown,
        user=user,
        result=AuditEntry.Result.FAILED,
        detail={"error": "wrong password" if user else "unknown name", "next_try_in_s": waits},
        address=address,
    )
