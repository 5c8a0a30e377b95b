"""Deliveries that are due: claimed, sent, and only then marked as sent.

A keeper that dies in between leaves a claim that runs out, and the next one sends it again: at least once, with the
same id.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence

from django.db import DatabaseError, connection
from django.db.models import Exists, OuterRef, Q

from console.alerts import channels
from console.alerts.webhook import NotSent
from console.models import AlertDelivery

log = logging.getLogger("console.alerts")

CLAIM_MS = 60_000
FIRST_MS, LONGEST_MS = 5_000, 900_000
TRIES_MOST = 40
"""About nine hours."""
AT_ONCE = 3
"""Of one receiver in a round."""
RECEIVERS_MOST = 20
MARK_AGAIN_S = (0.1, 0.5, 2.0)
State, What = AlertDelivery.State, AlertDelivery.What


def due(now_ms: int) -> dict[int, list[AlertDelivery]]:
    """By receiver, oldest first; of many receivers some. That it is over is said after that it fired."""
    earlier = AlertDelivery.objects.filter(
        alert=OuterRef("alert"), receiver=OuterRef("receiver"), what=What.FIRING, state=State.WAITING
    )
    # What waits for longer than anything does was put off by a clock that was ahead.
    now = Q(next_ms__lte=now_ms) | Q(next_ms__gt=now_ms + LONGEST_MS + CLAIM_MS)
    rows = AlertDelivery.objects.filter(now, state=State.WAITING, receiver__enabled=True)
    rows = rows.exclude(Exists(earlier), what=What.RESOLVED)
    receivers = list(rows.values_list("receiver", flat=True).distinct())
    some = random.sample(receivers, min(len(receivers), RECEIVERS_MOST))
    return {
        each: list(rows.filter(receiver=each).select_related("alert__rule", "receiver").order_by("pk")[:AT_ONCE])
        for each in some
    }


def deliver(some: Sequence[AlertDelivery], now: Callable[[], int]) -> None:
    """To one receiver, in order; where one could not be sent, the others wait for the next round."""
    for each in some:
        if not _claimed(each, now()):
            continue
        try:
            channels.send(each.receiver, each)
        except NotSent as error:
            _failed(each, str(error), now())
            return
        except Exception as error:
            log.warning("an alert could not be sent to %s: %s", each.receiver.name, type(error).__name__)
            _failed(each, type(error).__name__, now())
            return
        mark_sent(each, now())


def mark_sent(delivery: AlertDelivery, now_ms: int) -> None:
    """Tried again where somebody else is writing, or the database is away: unmarked, it would be told twice."""
    for pause_s in MARK_AGAIN_S:
        try:
            _mark(delivery, now_ms)
        except DatabaseError:
            connection.close_if_unusable_or_obsolete()
            time.sleep(pause_s)
        else:
            return
    _mark(delivery, now_ms)


def _mark(delivery: AlertDelivery, now_ms: int) -> None:
    AlertDelivery.objects.filter(pk=delivery.pk).update(state=State.SENT, sent_ms=now_ms, error="")


def _claimed(delivery: AlertDelivery, now_ms: int) -> bool:
    """Whether it is ours: another keeper may be sending it."""
    tries = delivery.tries + 1
    mine = AlertDelivery.objects.filter(pk=delivery.pk, state=State.WAITING, tries=delivery.tries)
    claimed = bool(mine.update(tries=tries, next_ms=now_ms + CLAIM_MS))
    delivery.tries = tries
    return claimed


def _failed(delivery: AlertDelivery, error: str, now_ms: int) -> None:
    over = delivery.tries >= TRIES_MOST
    wait_ms = min(LONGEST_MS, FIRST_MS * 2 ** min(delivery.tries - 1, 20))
    level = logging.ERROR if over else logging.WARNING
    log.log(level, "an alert was not sent to %s: %s%s", delivery.receiver.name, error, " (given up)" if over else "")
    AlertDelivery.objects.filter(pk=delivery.pk).update(
        state=State.GIVEN_UP if over else State.WAITING, next_ms=now_ms + wait_ms, error=error[:300]
    )
