"""What changing a field of a definition does to the messages that are there now: one function for each field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext

from console.engine import engine
from console.usecases.definitions.plan_line import Count, Line, Severity, spoken
from console.usecases.definitions.plan_order import ORDER_LINES
from rmq_core.figures import number
from rmq_core.model.samples import TopicSample
from rmq_core.model.states import State
from rmq_core.model.topic import Journal, Topic
from rmq_core.model.views import MessageRow
from rmq_core.ops.journal_marks import slot_limit

LOOKED_AT = 2_000
"""How many messages are looked at to count those a change reaches; with more, the plan says "at least"."""
AT_ONCE = 500


def _description(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    return [Line("description", "info", gettext("No message is affected."))]


def _paused(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    ready = Count(sample.ready)
    if not wanted.paused:
        text = gettext("Workers take again within a second. Messages ready: %(count)s.")
        return [Line("paused", "info", text % {"count": ready}, ready)]
    text = gettext(
        "Workers stop taking within a second. Ready messages (%(count)s) stay where they are, what is in flight"
        " (%(flight)s) is finished, and sending goes on."
    )
    return [Line("paused", "caution", text % {"count": ready, "flight": number(sample.prepare)}, ready)]


def _max_retries(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if wanted.max_retries > now.max_retries:
        text = gettext(
            "Messages that fail from now on are tried %(retries)s more times. Those waiting for a retry (%(count)s)"
            " have the new number as well; those that are ready again keep the tries they have left; dead letters stay"
            " dead."
        )
        retrying = Count(sample.retrying)
        return [
            Line("max_retries", "info", text % {"retries": number(wanted.max_retries), "count": retrying}, retrying)
        ]

    def last_try(row: MessageRow) -> bool:
        return row.failures >= max(1, wanted.max_retries)

    reached = _sum(_count(now, state, last_try) for state in ("retrying", "in_flight"))
    text = gettext(
        "Messages that have failed so often that their next failure makes them dead letters: %(count)s. Those that are"
        " ready again keep the tries they have left, or have the new number where that is less."
    )
    severity: Severity = "danger" if reached.number else "caution"
    return [
        Line("max_retries", "info", gettext("Tries after the first one: %(retries)s.") % {
            "retries": number(wanted.max_retries)}),
        Line("max_retries", severity, text % {"count": reached}, reached),
    ]  # fmt: skip


def _visibility(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    field = "visibility_timeout_ms"
    new_ms = wanted.visibility_timeout_ms
    if new_ms > now.visibility_timeout_ms:
        text = gettext("Deliveries in flight (%(count)s) get %(time)s, counted from when they were taken.")
        flight = Count(sample.prepare)
        return [Line(field, "info", text % {"count": flight, "time": spoken(new_ms)}, flight)]

    def over(row: MessageRow) -> bool:
        return row.score_ms is not None and sample.at_ms - row.score_ms > new_ms

    reached = _count(now, "in_flight", over, ordered=True)
    text = gettext(
        "Deliveries in flight for longer than %(time)s: %(count)s. They count as failed at once and are handed out"
        " again, while their first listener may still be running."
    )
    return [Line(field, "danger" if reached.number else "info", text % {"count": reached, "time": spoken(new_ms)},
                 reached)]  # fmt: skip


def _backoff(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    retrying = Count(sample.retrying)
    field = "backoff_ms" if wanted.backoff_ms != now.backoff_ms else "backoff_max_ms"
    text = gettext("From the next failure on. Messages that wait already (%(count)s) keep their time.")
    return [Line(field, "info", text % {"count": retrying}, retrying)]


def _backoff_max(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    # Said once where both are changed.
    return _backoff(now, wanted, sample) if wanted.backoff_ms == now.backoff_ms else []


def _max_content(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if wanted.max_content_bytes > now.max_content_bytes:
        return [Line("max_content_bytes", "info", gettext("Larger messages are accepted within a second."))]
    text = gettext("Senders of larger messages get an error. Messages that are here stay, whatever their size.")
    return [Line("max_content_bytes", "caution", text)]


def _weight(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    text = gettext("Its share of each worker's threads goes from %(before)s to %(after)s.")
    return [Line("weight", "info", text % {"before": number(now.weight), "after": number(wanted.weight)})]


def _max_backlog(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    backlog = Count(sample.backlog)
    if not wanted.max_backlog:
        return [Line("max_backlog", "info", gettext("Sends are never refused for the size of the backlog."))]
    if backlog.number < wanted.max_backlog:
        text = gettext("Messages waiting now: %(count)s. Above %(most)s, sends are refused.")
        return [Line("max_backlog", "info", text % {"count": backlog, "most": number(wanted.max_backlog)}, backlog)]
    text = gettext("Sends are refused at once: the limit is %(most)s, and messages waiting now are %(count)s.")
    return [Line("max_backlog", "danger", text % {"count": backlog, "most": number(wanted.max_backlog)}, backlog)]


def _rate_limit(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if not wanted.rate_limit:
        return [Line("rate_limit", "info", gettext("Workers take as fast as they can."))]
    ready = Count(sample.ready)
    text = gettext(
        "All workers together take at most %(rate)s a second. What is ready (%(count)s) lasts at least %(time)s."
    )
    values = {
        "rate": number(wanted.rate_limit),
        "count": ready,
        "time": spoken(1000 * ready.number // wanted.rate_limit),
    }
    lowered = not now.rate_limit or wanted.rate_limit < now.rate_limit
    return [Line("rate_limit", "caution" if lowered and ready.number else "info", text % values, ready)]


def _concurrency(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if not wanted.concurrency:
        return [Line("concurrency", "info", gettext("Workers take as many as they can run."))]
    in_flight = Count(sample.prepare)
    text = gettext(
        "At most %(most)s are in flight at once. Now %(count)s are; what is beyond that is not called back, and nothing"
        " is taken until it has ended."
    )
    lowered = in_flight.number > wanted.concurrency
    values = {"most": number(wanted.concurrency), "count": in_flight}
    return [Line("concurrency", "caution" if lowered else "info", text % values, in_flight)]


def _objective(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if not wanted.lateness_objective_ms:
        text = gettext("Nobody is told any more how many deliveries are late. No message is affected.")
        return [Line("lateness_objective_ms", "info", text)]
    text = gettext("What is later than %(time)s is counted from now on. No message is affected.")
    return [Line("lateness_objective_ms", "info", text % {"time": spoken(wanted.lateness_objective_ms)})]


def _undo(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if not wanted.undo_ms:
        text = gettext("Cancelled and dropped messages are gone at once.")
    elif wanted.undo_ms < now.undo_ms:
        text = gettext("What was cancelled or dropped longer than %(time)s ago can no longer be restored.")
    else:
        text = gettext("What is cancelled or dropped can be restored for %(time)s.")
    return [
        Line("undo_ms", "caution" if wanted.undo_ms < now.undo_ms else "info", text % {"time": spoken(wanted.undo_ms)})
    ]


def _results(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if not wanted.result_for_ms:
        text = gettext("No more results are kept, but of messages that ask for it. Those that are stay for their time.")
    else:
        text = gettext("What a listener returns from now on is kept for %(time)s.")
    return [Line("result_for_ms", "info", text % {"time": spoken(wanted.result_for_ms)})]


def _journal(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if wanted.journal is Journal.OFF:
        text = gettext("Nothing is recorded from now on. What was recorded stays for its readers.")
        return [Line("journal", "caution", text)]
    if now.journal is Journal.OFF:
        held = Count(sample.backlog + sample.prepare + sample.dead)
        text = gettext("Every change is recorded from now on. The past of what is here (%(count)s) is not known to it.")
        return [Line("journal", "info", text % {"count": held}, held)]
    if wanted.journal is Journal.FULL:
        return [Line("journal", "info", gettext("Contents are recorded too, of what is sent from now on."))]
    return [Line("journal", "caution", gettext("Contents are no longer recorded. Such messages cannot be restored."))]


def _journal_max(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if not wanted.journal_max:
        text = gettext("The journal grows as long as Redis has memory, should its readers stall.")
        return [Line("journal_max", "caution", text)]
    text = gettext("A slot with more than %(most)s entries that were not read refuses what is sent to it.")
    return [Line("journal_max", "info", text % {"most": number(slot_limit(wanted))})]


def _archive_for(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if not wanted.archive_for_ms:
        text = gettext("The archive forgets nothing of this topic by itself from now on.")
        return [Line("archive_for_ms", "info", text)]
    text = gettext(
        "When the archive runs next, ids, contents and errors of messages that were over %(time)s ago are gone from it,"
        " for good. That they were there stays."
    )
    sooner = not now.archive_for_ms or wanted.archive_for_ms < now.archive_for_ms
    level: Severity = "danger" if sooner else "info"
    return [Line("archive_for_ms", level, text % {"time": spoken(wanted.archive_for_ms)})]


def _bounds(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    """What trimming would take. Said once where several of its settings change."""
    field = next(name for name in _BOUNDS if getattr(now, name) != getattr(wanted, name))
    length = Count(sample.length)
    if not wanted.max_length and not wanted.max_age_ms:
        text = gettext("Nothing is trimmed any more. Entries kept now: %(count)s.")
        return [Line(field, "caution", text % {"count": length}, length)]
    share = -(-wanted.max_length // wanted.slots)
    over = Count(sum(max(0, slot.length - share) for slot in sample.slots) if share else 0)
    lines = []
    if over.number:
        text = gettext("Entries beyond the most that are kept: %(count)s. They are trimmed within seconds, for good.")
        lines.append(Line(field, "danger", text % {"count": over}, over))
    firsts = [int(slot.first_entry.partition("-")[0]) for slot in sample.slots if slot.first_entry]
    oldest_ms = sample.at_ms - min(firsts) if firsts else 0
    if wanted.max_age_ms and oldest_ms > wanted.max_age_ms:
        text = gettext("Entries older than %(time)s are trimmed within seconds, for good; the oldest is %(age)s old.")
        values = {"time": spoken(wanted.max_age_ms), "age": spoken(oldest_ms)}
        lines.append(Line(field, "danger", text % values))
    if not lines:
        text = gettext("Of the %(count)s entries kept now none is beyond these bounds.")
        lines.append(Line(field, "info", text % {"count": length}, length))
    if wanted.trim_unread and not now.trim_unread:
        text = gettext("Trimming no longer waits for durable groups: what they have not read by then, they miss.")
        lines.append(Line("trim_unread", "danger", text))
    elif not wanted.trim_unread:
        text = gettext("What a durable group has not finished stays, however much that is.")
        lines.append(Line("trim_unread", "info", text))
    return lines


def _bounds_once(name: str) -> Callable[[Topic, Topic, TopicSample], list[Line]]:
    def lines(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
        changed = [each for each in _BOUNDS if getattr(now, each) != getattr(wanted, each)]
        return _bounds(now, wanted, sample) if changed[0] == name else []

    return lines


_BOUNDS = ("max_length", "max_age_ms", "trim", "trim_unread")

LINES: dict[str, Callable[[Topic, Topic, TopicSample], list[Line]]] = {
    "description": _description,
    "paused": _paused,
    "max_retries": _max_retries,
    "visibility_timeout_ms": _visibility,
    "backoff_ms": _backoff,
    "backoff_max_ms": _backoff_max,
    **ORDER_LINES,
    "max_content_bytes": _max_content,
    "weight": _weight,
    "max_backlog": _max_backlog,
    "rate_limit": _rate_limit,
    "concurrency": _concurrency,
    "lateness_objective_ms": _objective,
    "undo_ms": _undo,
    "result_for_ms": _results,
    "journal": _journal,
    "journal_max": _journal_max,
    "archive_for_ms": _archive_for,
    **{name: _bounds_once(name) for name in _BOUNDS},
}


def _count(topic: Topic, state: State, wanted: Callable[[MessageRow], bool], ordered: bool = False) -> Count:
    """How many messages of a state are meant; `ordered`: those that are come first, oldest first."""
    number = looked_at = 0
    cursor = None
    while True:
        page = engine().inspector.messages(topic.name, state, limit=AT_ONCE, cursor=cursor)
        hits = sum(wanted(row) for row in page.rows)
        number, looked_at, cursor = number + hits, looked_at + len(page.rows), page.next_cursor
        if cursor is None or (ordered and hits < len(page.rows)):
            return Count(number)
        if looked_at >= LOOKED_AT:
            return Count(number, exact=False)


def _sum(counts: Any) -> Count:
    total = Count(0)
    for count in counts:
        total = replace(total, number=total.number + count.number, exact=total.exact and count.exact)
    return total
