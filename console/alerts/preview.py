"""What a rule would have done, by the history of days: an estimate, for the history keeps peaks and no single looks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from console.alerts.conditions import ALL, covered, covers_all
from console.history.points import POINT
from console.history.reading import chart
from console.history.tiers import DAY, MINUTE
from console.models import AlertRule, HistoryProblem

SPAN_MS = 7 * DAY
TOPICS_MOST = 50
SHOWN_MOST = 20
LOOK_MS = 5_000


@dataclass(frozen=True)
class Firing:
    """`until_ms`: when it was no longer wrong."""

    topic: str
    from_ms: int
    until_ms: int


@dataclass(frozen=True)
class Preview:
    """`topics`: of how many the history was looked at; `left_out`: how many more the rule is for."""

    from_ms: int
    to_ms: int
    count: int
    firings: list[Firing]
    topics: int
    left_out: int


def preview(rule: AlertRule, names: Sequence[str], now_ms: int, everything: bool = True) -> Preview:
    """The rule need not be saved. `names`: all topics. `everything`: with problems of the whole installation."""
    from_ms = now_ms - SPAN_MS
    matching = sorted(covered(rule.topics, names))
    looked_at = matching[:TOPICS_MOST]
    if rule.metric:
        wrong = [each for name in looked_at for each in _by_metric(rule, name, from_ms, now_ms)]
    else:
        looked_at = matching
        wrong = list(_by_problem(rule, looked_at, from_ms, now_ms, everything))
    least = max(rule.for_ms, (rule.fire_after - 1) * LOOK_MS)
    # It fires later than it begins, by as long as it has to last.
    fired = [
        Firing(each.topic, each.from_ms + least, each.until_ms)
        for each in wrong
        if each.until_ms - each.from_ms >= max(least, 1)
    ]
    fired.sort(key=lambda each: -each.from_ms)
    return Preview(from_ms, now_ms, len(fired), fired[:SHOWN_MOST], len(looked_at), len(matching) - len(looked_at))


def _by_metric(rule: AlertRule, topic: str, from_ms: int, now_ms: int) -> Iterator[Firing]:
    if rule.threshold is None or rule.metric not in POINT:
        return
    place = POINT.index(rule.metric)
    above = rule.comparison == AlertRule.Comparison.ABOVE
    rows = chart(topic, from_ms, now_ms, now_ms, step_ms=MINUTE).points
    looks = ((int(row[0] or 0), row[place]) for row in rows)
    yield from _spans(
        topic,
        (
            (at_ms, value > rule.threshold if above else value < rule.threshold)
            for at_ms, value in looks
            if value is not None
        ),
        rule.resolve_after * LOOK_MS,
    )


def _spans(topic: str, looks: Iterable[tuple[int, bool]], apart_ms: int) -> Iterator[Firing]:
    """From when until when it was wrong; what comes back sooner than it would have been over is the same."""
    begun: int | None = None
    last = 0
    for at_ms, wrong in looks:
        if begun is not None and not wrong and at_ms - last >= apart_ms:
            yield Firing(topic, begun, last)
            begun = None
        if wrong:
            begun = at_ms if begun is None else begun
            last = at_ms + MINUTE
    if begun is not None:
        yield Firing(topic, begun, last)


def _by_problem(
    rule: AlertRule, topics: Sequence[str], from_ms: int, now_ms: int, everything: bool
) -> Iterator[Firing]:
    wanted = set(topics) | ({ALL} if everything and covers_all(rule.topics) else set())
    rows = HistoryProblem.objects.filter(code=rule.problem, seen_ms__gte=from_ms).order_by("-begun_ms")
    for topic, begun, seen, still in rows.values_list("topic", "begun_ms", "seen_ms", "open")[:10_000]:
        if topic in wanted:
            yield Firing(topic, begun, now_ms if still else seen)
