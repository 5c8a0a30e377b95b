"""Whether the server still holds the data that it did: found out by the keeper, accepted by people.

See ``docs/decisions/600-a-mark-tells-of-lost-data.md``.
"""

from __future__ import annotations

from enum import Enum, auto

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext

from console.access import Action, require
from console.errors import LossOver
from console.models import DataLoss, KnownData
from console.snapshots.data_mark import DataMark
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason

How = DataLoss.How


class Verdict(Enum):
    """What a look finds. `NEW`: nothing is known of before."""

    NEW = auto()
    SAME = auto()
    OTHER = auto()
    OLDER = auto()


def known() -> KnownData | None:
    """What the server held last, as far as is written down. To be asked before the server is."""
    return KnownData.objects.select_related("loss").filter(pk=1).first()


def judge(before: KnownData | None, mark: DataMark | None) -> Verdict:
    """Whether what is there now is what was there before."""
    if before is None or not before.word:
        return Verdict.NEW
    if mark is None or mark.word != before.word:
        return Verdict.OTHER
    return Verdict.OLDER if mark.counted < before.count else Verdict.SAME


def take(before: KnownData | None, mark: DataMark, how: DataLoss.How | None = None) -> None:
    """What is there is ours from now on; a loss that stands is over."""
    values = {"word": mark.word, "count": mark.counted, "at_ms": mark.at_ms, "loss": None}
    if before is None:
        KnownData.objects.get_or_create(pk=1, defaults=values)
    else:
        _replace(before, how, **values)


def keep(mark: DataMark) -> None:
    """It is the same, and was counted on."""
    mine = KnownData.objects.filter(pk=1, word=mark.word, count__lt=mark.counted, loss=None)
    mine.update(count=mark.counted, at_ms=mark.at_ms)


def returned(before: KnownData) -> None:
    """What was there before the loss is there again."""
    _replace(before, How.RETURNED, loss=None)


def lose(before: KnownData, seen_ms: int, found_ms: int, back_ms: int | None) -> DataLoss | None:
    """There is other data, or older (`back_ms`); None where another keeper was faster."""
    with transaction.atomic():
        loss = before.loss
        if loss is None:
            loss = DataLoss.objects.create(seen_ms=seen_ms, found_ms=found_ms, back_ms=back_ms)
            if not _mine(before).update(loss=loss):
                loss.delete()
                return None
        elif loss.back_ms != back_ms:  # an older dump was loaded into a server that had lost everything
            DataLoss.objects.filter(pk=loss.pk, how="").update(back_ms=back_ms, marked=False)
            loss.back_ms = back_ms
    return loss


def accept(actor: Actor, found_ms: int, reason: str) -> None:
    """What the server holds is meant to be so. `found_ms`: of the loss that was shown. Raises `Forbidden`, `LossOver`,
    `BadRequest`."""
    with audited(actor, Action.ACCEPT_DATA, query={"found_ms": found_ms}, reason=reason) as entry:
        require(actor.user, Action.ACCEPT_DATA)
        check_reason(reason, needed=True)
        before = known()
        loss = before.loss if before else None
        shown = loss is not None and loss.found_ms == found_ms
        if not (before and loss and shown and _replace(before, How.ACCEPTED, word="", count=0, loss=None)):
            raise LossOver(gettext("This problem is over, or is another one by now: look at it again."))
        entry.detail = {"seen_ms": loss.seen_ms, "back_ms": loss.back_ms}
        entry.done = 1


def _replace(before: KnownData, how: DataLoss.How | None, **values: object) -> bool:
    with transaction.atomic():
        done = bool(_mine(before).update(**values))
        if done and how is not None and before.loss_id is not None:
            DataLoss.objects.filter(pk=before.loss_id).update(how=how)
    return done


def _mine(before: KnownData) -> QuerySet[KnownData]:
    """The row, as long as nobody has changed it since it was read."""
    return KnownData.objects.filter(pk=1, word=before.word, count=before.count, loss=before.loss_id)
