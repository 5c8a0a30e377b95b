"""Messages found by a filter: a bounded look at a time, with a cursor that keeps its place."""

from __future__ import annotations

import base64
import json
from hashlib import blake2b
from typing import NamedTuple

from rmq_core.errors import InvalidFilter, InvalidMessage
from rmq_core.model.bounds import whole
from rmq_core.model.filters import MessageFilter
from rmq_core.model.holds import HELD_FROM
from rmq_core.model.scores import PRIORITY_MIN, SHIFT
from rmq_core.model.topic import Topic
from rmq_core.model.views import MessageRow, Preview, RefSelection, Selection
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation, batches
from rmq_core.queries import clusters, paging
from rmq_core.queries.by_text import SCAN_MAX
from rmq_core.queries.fitting import fitting
from rmq_core.queries.message_rows import rows
from rmq_core.queries.paging import Entry, Window
from rmq_core.queries.present import now_of

CONTENTS_AT_ONCE = 100
FIRST_LOOK = 100
EXAMPLES = 5
EXAMPLES_SCAN = 5_000


class _Scanned(NamedTuple):
    entries: list[Entry]
    looked_at: int
    total: int
    next_cursor: str | None


class _Place(NamedTuple):
    """What a cursor tells: the clock of the first look, what has been looked at, of how many, and where to go on."""

    now_ms: int
    looked_at: int
    total: int
    position: str | None


def select(
    keyspace: Keyspace,
    topic: Topic,
    wanted: MessageFilter,
    *,
    cursor: str | None = None,
    scan: int = 5_000,
    limit: int | None = None,
) -> Operation[Selection]:
    """Looks at ``scan`` messages at most and returns those that match, at most ``limit`` of them.

    What comes into the state after the first look (by its time) is left out, so that whoever acts on a selection comes
    to an end. Raises `InvalidFilter`; `InvalidMessage` for the cursor of another filter or topic.
    """
    found = yield from _scan(keyspace, topic, wanted, cursor, scan, limit)
    filled: list[MessageRow] = []
    for some in batches(found.entries, paging.PAGE_MAX):
        filled += yield from rows(keyspace, topic, wanted.state, some)
    return Selection(tuple(filled), found.looked_at, found.total, found.next_cursor)


def select_refs(
    keyspace: Keyspace,
    topic: Topic,
    wanted: MessageFilter,
    *,
    cursor: str | None = None,
    scan: int = 5_000,
    limit: int | None = None,
) -> Operation[RefSelection]:
    """The same, without reading the messages themselves."""
    found = yield from _scan(keyspace, topic, wanted, cursor, scan, limit)
    return RefSelection(tuple(entry.ref for entry in found.entries), found.looked_at, found.total, found.next_cursor)


def preview(keyspace: Keyspace, topic: Topic, wanted: MessageFilter, *, scan: int = 20_000) -> Operation[Preview]:
    """How many messages a filter selects now, and some of them.

    Exact where nothing has to be looked at, where the scripts count it (a cluster of dead letters), or where all could
    be looked at; else an estimate from the oldest and the newest ``scan / 2``.
    """
    whole("scan", scan, 1, SCAN_MAX)
    now = yield from now_of(keyspace, topic)
    slots = wanted.slots(topic)
    span = _span(topic, wanted, now)
    total = yield from _count(keyspace, topic, span, slots)
    if not wanted.needs_look:
        shown = yield from _some(keyspace, topic, wanted, span, now)
        return Preview(total, True, 0, total, shown)
    counted = None if wanted.needs_content else (yield from _counted(keyspace, topic, wanted, slots))
    if counted is not None:
        found = yield from _look(keyspace, topic, wanted, span, now, min(scan, EXAMPLES_SCAN), limit=EXAMPLES)
        return Preview(counted, True, found[1], total, (yield from rows(keyspace, topic, wanted.state, found[0])))
    exact = total <= scan
    matched, looked, _ = yield from _look(keyspace, topic, wanted, span, now, scan if exact else scan // 2)
    if not exact:
        newest, more, _ = yield from _look(keyspace, topic, wanted, span, now, scan // 2, descending=True)
        matched += newest
        looked += more
    shown = yield from rows(keyspace, topic, wanted.state, matched[:EXAMPLES])
    estimate = len(matched) if exact else round(len(matched) * total / max(1, looked))
    return Preview(estimate, exact, looked, total, shown)


def _counted(keyspace: Keyspace, topic: Topic, wanted: MessageFilter, slots: range) -> Operation[int | None]:
    if wanted.state != "dead" or wanted.tenant is not None or (wanted.since_ms, wanted.until_ms) != (None, None):
        return None
    known = yield from clusters.dead_clusters(keyspace, topic, slots)
    return sum(each.count for each in known if each.fingerprint == wanted.fingerprint)


def _some(
    keyspace: Keyspace, topic: Topic, wanted: MessageFilter, span: Window | None, now: int
) -> Operation[tuple[MessageRow, ...]]:
    found, _ = yield from paging.entries(
        keyspace, topic, wanted.state, now, slots=wanted.slots(topic), limit=EXAMPLES, span=span
    )
    return (yield from rows(keyspace, topic, wanted.state, found))


# -- looking -----------------------------------------------------------------------------------------------------


def _scan(
    keyspace: Keyspace, topic: Topic, wanted: MessageFilter, cursor: str | None, scan: int, limit: int | None
) -> Operation[_Scanned]:
    whole("scan", scan, 1, SCAN_MAX)
    if limit is not None:
        whole("limit", limit, 1, SCAN_MAX)
    if cursor:
        place = _read_cursor(cursor, topic, wanted)
        span = _span(topic, wanted, place.now_ms)
    else:
        now = yield from now_of(keyspace, topic)
        span = _span(topic, wanted, now)
        place = _Place(now, 0, (yield from _count(keyspace, topic, span, wanted.slots(topic))), None)
    matched, looked, position = yield from _look(
        keyspace, topic, wanted, span, place.now_ms, scan, limit=limit, position=place.position
    )
    seen = place.looked_at + looked
    total = max(place.total, seen)
    following = position and _write_cursor(topic, wanted, _Place(place.now_ms, seen, total, position))
    return _Scanned(matched, seen, total, following)


def _look(
    keyspace: Keyspace,
    topic: Topic,
    wanted: MessageFilter,
    span: Window | None,
    now: int,
    scan: int,
    *,
    limit: int | None = None,
    position: str | None = None,
    descending: bool = False,
) -> Operation[tuple[list[Entry], int, str | None]]:
    """(matching entries, how many were looked at, where to go on)."""
    matched: list[Entry] = []
    looked = 0
    slots = wanted.slots(topic)
    at_once = _at_once(wanted)
    # Where few are wanted, the first few may do.
    step = at_once if limit is None else min(at_once, max(FIRST_LOOK, 2 * limit))
    while looked < scan:
        size = min(step, scan - looked)
        step = min(at_once, step * 4)
        page, position = yield from paging.entries(
            keyspace,
            topic,
            wanted.state,
            now,
            slots=slots,
            descending=descending,
            limit=size,
            most=at_once,
            cursor=position,
            span=span,
        )
        matches = yield from fitting(keyspace, topic, wanted, page)
        if limit is not None and len(matched) + len(matches) >= limit:
            matches = matches[: limit - len(matched)]
            last = page.index(matches[-1])
            if last + 1 < len(page) or position is not None:
                position = paging.cursor_at(topic, wanted.state, slots, descending, span, matches[-1])
            return matched + matches, looked + last + 1, position
        matched += matches
        looked += len(page)
        if position is None:
            break
    return matched, looked, position


def _at_once(wanted: MessageFilter) -> int:
    """How many to look at in one step, by what has to be read of each: all, its failure record, or next to nothing."""
    if wanted.text or wanted.where or wanted.tenant is not None or (wanted.state == "trash" and wanted.needs_look):
        return CONTENTS_AT_ONCE
    if wanted.error or (wanted.state != "dead" and wanted.needs_look):
        return paging.PAGE_MAX
    return paging.BULK_MAX


# -- where to look -----------------------------------------------------------------------------------------------


def _span(topic: Topic, wanted: MessageFilter, now: int) -> Window | None:
    """The scores of the filter's state and times; None: the topic's kind has no such state."""
    state, since, until = wanted.state, wanted.since_ms, wanted.until_ms
    whole = paging.window(topic, state, now)
    if whole is None:
        return None
    queue, low, high = whole
    bounded = since is not None or until is not None
    if state == "held":
        if bounded:
            raise InvalidFilter("since_ms" if since is not None else "until_ms", "what is held waits for no time")
    elif state == "ready":
        if bounded and not topic.timed:
            raise InvalidFilter(
                "since_ms" if since is not None else "until_ms", "messages of a priority topic are ready at no set time"
            )
        if bounded:
            # A retried message that is ready has no time of its own.
            low, high = str(max(PRIORITY_MIN, since or 0)), f"({(now if until is None else min(now, until)) + 1}"
    elif state == "delayed":
        low = str(since) if since is not None and since > now else low
        high = high if until is None else f"({until + 1}"
    elif state == "retrying":
        low = low if since is None else str(since * SHIFT)
        high = high if until is None else str(min(until * SHIFT + SHIFT, HELD_FROM) - 1)
    else:
        floor = now - topic.undo_ms if state == "trash" else -1
        low = str(since) if since is not None and since > floor else low
        high = str(now if until is None else min(now, until))
    return Window(queue, low, high)


def _count(keyspace: Keyspace, topic: Topic, span: Window | None, slots: range) -> Operation[int]:
    if span is None:
        return 0
    keys = [keyspace.slot_keys(topic.name, slot)[span.queue] for slot in slots]
    return sum((yield [("ZCOUNT", key, span.low, span.high) for key in keys]))


# -- cursors -----------------------------------------------------------------------------------------------------


def _mark(topic: Topic, wanted: MessageFilter) -> str:
    given = wanted.to_mapping() | {"state": paging.STATES_IN_CURSORS.get(wanted.state, wanted.state)}
    text = json.dumps([topic.name, sorted(given.items())])
    return blake2b(text.encode(), digest_size=6).hexdigest()


def _write_cursor(topic: Topic, wanted: MessageFilter, place: _Place) -> str:
    return base64.urlsafe_b64encode(json.dumps([_mark(topic, wanted), *place]).encode()).decode().rstrip("=")


def _read_cursor(cursor: str, topic: Topic, wanted: MessageFilter) -> _Place:
    try:
        mark, now, looked, total, position = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        place = _Place(int(now), int(looked), int(total), str(position))
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise InvalidMessage("this cursor is not one of ours; begin again without it") from None
    if mark != _mark(topic, wanted):
        raise InvalidMessage("this cursor belongs to another filter; begin again without it")
    return place
