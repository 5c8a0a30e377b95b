"""What the record says of messages whose server has lost them: no more than is known.

Of data that is gone everything that waited, was in flight or dead is *lost*. Where the server went back to older data,
what was recorded after that is *unknown*: it may be there as it was; so may what a topic held that is there still, as
where a node of a Cluster was lost. What the journals tell next is true again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Case, CharField, F, Q, QuerySet, Value, When

from console.models import DataLoss, MessageRecord
from console.query_parts import in_parts

State = MessageRecord.State
OPEN = (State.DELAYED, State.READY, State.RETRYING, State.HELD, State.IN_FLIGHT, State.DEAD)
AT_ONCE = 2_000
_WHERE_IT_WAS = Case(
    When(in_flight=True, then=Value(State.IN_FLIGHT.value)),
    When(~Q(queued=""), then=F("queued")),
    When(dead=True, then=Value(State.DEAD.value)),
    output_field=CharField(),
)
"""As `Life.where`."""
_PLACED = Q(in_flight=True) | Q(dead=True) | ~Q(queued="")


def due() -> list[DataLoss]:
    """Losses that the record does not tell of yet, or that were none and it still tells of."""
    returned = Q(how=DataLoss.How.RETURNED)
    return list(DataLoss.objects.filter((Q(marked=False) & ~returned) | (Q(marked=True) & returned)).order_by("pk"))


def tell(loss: DataLoss, created_ms: Mapping[str, int]) -> int:
    """Brings the record up to date with a loss; returns of how many messages. `created_ms`: of the topics there now."""
    changed = 0
    returned = loss.how == DataLoss.How.RETURNED
    for topic in MessageRecord.objects.order_by("topic").values_list("topic", flat=True).distinct():
        rows = MessageRecord.objects.filter(topic=topic)
        changed += _bring_back(rows, loss)
        if not returned:
            changed += _mark(rows.filter(state__in=OPEN), loss, created_ms.get(topic))
    DataLoss.objects.filter(pk=loss.pk, back_ms=loss.back_ms).update(marked=not returned)
    return changed


def _mark(rows: QuerySet[MessageRecord], loss: DataLoss, created_ms: int | None) -> int:
    if loss.back_ms is not None:
        unsure = rows.filter(updated_ms__gt=loss.back_ms, updated_ms__lte=loss.seen_ms)
        return _update(unsure, state=State.UNKNOWN)
    if created_ms is not None and created_ms <= loss.seen_ms:  # it is there still: not all was lost
        return _update(rows.filter(updated_ms__lte=loss.seen_ms), state=State.UNKNOWN)
    if created_ms is not None:  # what was recorded since it is there again is of the data that is there now
        rows = rows.filter(updated_ms__lt=max(created_ms, loss.seen_ms + 1))
    return _update(rows, state=State.LOST, ended_ms=loss.found_ms)


def _bring_back(rows: QuerySet[MessageRecord], loss: DataLoss) -> int:
    """What was said of a loss before it was known to be another one, or none; of what has been told of since, that
    stands."""
    lost = rows.filter(state=State.LOST, ended_ms=loss.found_ms)
    since_ms = _before(loss) if loss.back_ms is None else loss.back_ms
    unsure = rows.filter(state=State.UNKNOWN, updated_ms__gt=since_ms, updated_ms__lte=loss.seen_ms)
    return sum(_update(each.filter(_PLACED), state=_WHERE_IT_WAS, ended_ms=None) for each in (lost, unsure))


def _before(loss: DataLoss) -> int:
    """When the loss before that one was."""
    seen = DataLoss.objects.filter(pk__lt=loss.pk).order_by("-pk").values_list("seen_ms", flat=True)
    return seen.first() or 0


def _update(rows: QuerySet[MessageRecord], **values: Any) -> int:
    """Some at a time, so that nobody waits for the database meanwhile."""
    changed = 0
    while keys := list(rows.values_list("pk", flat=True)[:AT_ONCE]):
        for some in in_parts(keys):
            changed += MessageRecord.objects.filter(pk__in=some).update(**values)
    return changed
