"""The blocks in the database: written by one keeper, read by everybody, forgotten by age and by size."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, Max, Min, QuerySet, Sum

from console.history.tiers import DAY, NUMBERS, SLOTS, Tier
from console.models import HistoryBlock, HistoryWriter
from console.query_parts import in_parts

Series = HistoryBlock.Series
TIERS: dict[str, Sequence[Tier]] = {Series.NUMBERS: NUMBERS, Series.SLOTS: SLOTS}
ROWS_AT_ONCE = 100
FORGOTTEN_AT_ONCE = 1_000
LONGEST_S = 5.0
"""Of one turn of forgetting; the rest is for the next."""


class OtherWriter(Exception):
    """Another keeper writes the history now."""


@dataclass(frozen=True)
class Row:
    """A block as it is kept."""

    topic: str
    series: str
    step_ms: int
    start_ms: int
    end_ms: int
    data: bytes


@dataclass(frozen=True)
class Held:
    """What is kept of one tier."""

    series: str
    step_ms: int
    blocks: int
    size: int
    oldest_ms: int
    newest_ms: int


def begin(name: str) -> None:
    """Be the writer from now on."""
    HistoryWriter.objects.update_or_create(pk=1, defaults={"name": name})


@contextmanager
def writing(name: str) -> Iterator[None]:
    """A transaction of the writer. Raises `OtherWriter`, and then nothing is written."""
    with transaction.atomic():
        # This takes the lock that another keeper's `begin` has to wait for.
        if not HistoryWriter.objects.filter(pk=1, name=name).update(name=name):
            raise OtherWriter
        yield


def save(rows: Iterable[Row]) -> None:
    """Write blocks, in the place of what they were before."""
    HistoryBlock.objects.bulk_create(
        [HistoryBlock(**vars(row), size=len(row.data)) for row in rows],
        batch_size=ROWS_AT_ONCE,
        update_conflicts=True,
        unique_fields=["topic", "series", "step_ms", "start_ms"],
        update_fields=["end_ms", "size", "data"],
    )


def load(topics: Iterable[str], series: str, wanted: Iterable[tuple[int, int]]) -> dict[tuple[str, int, int], bytes]:
    """Those blocks that there are, by topic, step and start; `wanted`: steps and starts."""
    pairs = set(wanted)
    steps, starts = {step for step, _ in pairs}, {start for _, start in pairs}
    found = {}
    for some in in_parts(sorted(set(topics))):
        rows = HistoryBlock.objects.filter(topic__in=some, series=series, step_ms__in=steps, start_ms__in=starts)
        for row in rows:
            if (row.step_ms, row.start_ms) in pairs:
                found[row.topic, row.step_ms, row.start_ms] = bytes(row.data)
    return found


def between(topic: str, series: str, tier: Tier, from_ms: int, to_ms: int) -> list[Row]:
    """The blocks that tell something of that time, in order of their beginnings."""
    # No block is longer than its span: without the lower bound every older one would be looked at.
    found = HistoryBlock.objects.filter(
        topic=topic,
        series=series,
        step_ms=tier.step_ms,
        start_ms__gt=from_ms - tier.span_ms - tier.step_ms,
        start_ms__lt=to_ms,
        end_ms__gte=from_ms - tier.step_ms,
    )
    return [
        Row(row.topic, row.series, row.step_ms, row.start_ms, row.end_ms, bytes(row.data))
        for row in found.order_by("start_ms")
    ]


def held() -> list[Held]:
    """How much there is, by tier."""
    rows = HistoryBlock.objects.values("series", "step_ms").order_by("series", "step_ms")
    sums = rows.annotate(
        blocks=Count("pk"), held=Sum("size"), oldest=Min("start_ms"), newest=Max("end_ms")
    ).values_list("series", "step_ms", "blocks", "held", "oldest", "newest")
    return [Held(*each) for each in sums]


def forget(now_ms: int) -> int:
    """Delete what is older than its tier is kept, or from a clock that was ahead. Returns how many blocks."""
    until = time.monotonic() + LONGEST_S
    total = 0
    for series, tiers in TIERS.items():
        known = [tier.step_ms for tier in tiers]
        total += _delete(HistoryBlock.objects.filter(series=series).exclude(step_ms__in=known), until)
        for tier in tiers:
            rows = HistoryBlock.objects.filter(series=series, step_ms=tier.step_ms)
            total += _delete(rows.filter(end_ms__lt=now_ms - tier.keep_ms), until)
            total += _delete(rows.filter(start_ms__gt=now_ms + DAY), until)
    return total


def shrink(most_bytes: int) -> int:
    """Delete the oldest until no more than `most_bytes` are left, slots first. Returns how many blocks."""
    until = time.monotonic() + LONGEST_S
    total = 0
    over = sum(each.size for each in held()) - most_bytes
    for series in (Series.SLOTS, Series.NUMBERS):
        for tier in TIERS[series]:
            while over > 0 and time.monotonic() < until:
                rows = HistoryBlock.objects.filter(series=series, step_ms=tier.step_ms)
                oldest = _oldest(rows, over)
                if not oldest:
                    break
                total += _delete_keys([*oldest])
                over -= sum(oldest.values())
    return total


def _oldest(rows: QuerySet[HistoryBlock], over: int) -> dict[int, int]:
    """As many of the oldest as hold so many bytes, with their sizes."""
    found: dict[int, int] = {}
    for key, size in rows.order_by("end_ms").values_list("pk", "size")[:FORGOTTEN_AT_ONCE]:
        if over <= 0:
            break
        found[key] = size
        over -= size
    return found


def _delete(rows: QuerySet[HistoryBlock], until: float) -> int:
    total = 0
    while time.monotonic() < until:
        keys = list(rows.order_by("end_ms").values_list("pk", flat=True)[:FORGOTTEN_AT_ONCE])
        total += _delete_keys(keys)
        if len(keys) < FORGOTTEN_AT_ONCE:
            break
    return total


def _delete_keys(keys: list[int]) -> int:
    return sum(HistoryBlock.objects.filter(pk__in=some).delete()[0] for some in in_parts(keys))
