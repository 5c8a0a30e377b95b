"""`Idempotency-Key`: what changes something and is repeated gets the first answer again, for a day.

The key is recorded before the request is worked on, so two of them at once cannot both run. Answers that a later
try may change (503, 429, …) are not kept. What a process left unfinished may be tried again after `ABANDONED`. Whoever
may do something else by now is not told an answer of then: it may hold what they may not read any more.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from console.access import Permission, User, allowed, topics_of
from console.api.http.errors import ApiError
from console.models import KeptAnswer

HEADER = "Idempotency-Key"
METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
KEPT_FOR = timedelta(hours=24)
ABANDONED = timedelta(minutes=2)
BODY_MAX = 1_048_576
SWEPT_AT_ONCE = 200
_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_CONDITIONS = ("If-Match", "If-None-Match")
_KEPT_HEADERS = ("Content-Type", "Location", "ETag")
RIGHTS = "rights"
"""Among the headers of a record: what the caller could do then."""
_TRANSIENT = frozenset({401, 403, 409, 425, 429})


def begin(caller: str, user: User, key: str, request: HttpRequest) -> KeptAnswer | HttpResponse:
    """A record to `finish` or `forget`, or the answer that was given before. Raises `ApiError`."""
    if _KEY.fullmatch(key) is None:
        problem = "1 to 200 printable ASCII characters, no blanks"
        raise ApiError(422, "invalid", f"{HEADER}: {problem}", [(HEADER, problem)])
    fingerprint, rights = _fingerprint(request), {RIGHTS: _rights(user)}
    now = timezone.now()
    _sweep()
    for _ in range(3):
        try:
            with transaction.atomic():
                return KeptAnswer.objects.create(
                    caller=caller, key=key, fingerprint=fingerprint, started_at=now, headers=rights
                )
        except IntegrityError:
            known = KeptAnswer.objects.filter(caller=caller, key=key).first()
        if known is None:
            continue
        if now - known.started_at >= KEPT_FOR:
            KeptAnswer.objects.filter(pk=known.pk, started_at=known.started_at).delete()
            continue
        if known.fingerprint != fingerprint:
            raise ApiError(
                422,
                "idempotency_key_reused",
                f"This {HEADER} came with another request before; use a new key for a new request.",
                [(HEADER, "used for another request")],
            )
        if known.status is not None:
            return _again(known, rights)
        mine = KeptAnswer.objects.filter(pk=known.pk, status=None, started_at=known.started_at)
        if now - known.started_at >= ABANDONED and mine.update(started_at=now):
            known.started_at, known.headers = now, rights
            return known
        break
    raise ApiError(
        409,
        "in_progress",
        f"A request with this {HEADER} is being worked on; ask again in a moment.",
        headers={"Retry-After": "1"},
    )


def finish(record: KeptAnswer, response: HttpResponse) -> None:
    """Keep an answer for whoever repeats the request; what a later try may change is not kept."""
    if response.status_code >= 500 or response.status_code in _TRANSIENT:
        forget(record)
        return
    fits = len(response.content) <= BODY_MAX
    KeptAnswer.objects.filter(pk=record.pk, started_at=record.started_at).update(
        status=response.status_code,
        headers={name: response[name] for name in _KEPT_HEADERS if name in response} | record.headers,
        body=response.content if fits else None,
    )


def forget(record: KeptAnswer) -> None:
    """The request came to nothing: it may be tried again."""
    KeptAnswer.objects.filter(pk=record.pk, started_at=record.started_at).delete()


def _again(known: KeptAnswer, rights: dict[str, str]) -> HttpResponse:
    why = "its answer was too large to be kept" if known.body is None else ""
    if known.headers.pop(RIGHTS, rights[RIGHTS]) != rights[RIGHTS]:  # none: it was kept by an earlier release
        why = "what you may do has changed since, and its answer is not told again"
    if why or known.body is None:
        said = f"The request with this {HEADER} was done (status {known.status}); {why}."
        raise ApiError(409, "answer_not_kept", said)
    response = HttpResponse(bytes(known.body), status=known.status)
    for name, value in known.headers.items():
        response[name] = value
    response["Idempotent-Replayed"] = "true"
    return response


def _fingerprint(request: HttpRequest) -> str:
    parts = [request.method or "", request.get_full_path(), hashlib.sha256(request.body).hexdigest()]
    parts += [f"{name}: {request.headers[name]}" for name in _CONDITIONS if name in request.headers]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _rights(user: User) -> str:
    held = [each.value for each in Permission if allowed(user, each)]
    return hashlib.sha256(json.dumps([held, topics_of(user)]).encode()).hexdigest()


def _sweep() -> None:
    """A few of those that are out of date; every new key pays for some old ones."""
    old = KeptAnswer.objects.filter(started_at__lt=timezone.now() - KEPT_FOR)
    ids = list(old.order_by("started_at").values_list("pk", flat=True)[:SWEPT_AT_ONCE])
    if ids:
        KeptAnswer.objects.filter(pk__in=ids).delete()
