"""Messages found by their contents, a text in them or a comparison: a bounded scan that says what it has looked at."""

from __future__ import annotations

import base64
import json

from rmq_core.errors import InvalidMessage
from rmq_core.model.bounds import whole
from rmq_core.model.comparison import Comparison
from rmq_core.model.message import as_bytes
from rmq_core.model.states import State, state_named
from rmq_core.model.topic import Topic
from rmq_core.model.views import MessageRow, SearchPage
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation
from rmq_core.queries import paging
from rmq_core.queries.contents import fulfilling, that_holds, with_text
from rmq_core.queries.message_rows import rows
from rmq_core.queries.present import now_of

SCAN_MAX = 100_000


def search(
    keyspace: Keyspace,
    topic: Topic,
    text: str = "",
    *,
    where: str = "",
    state: State = "ready",
    limit: int = 50,
    scan: int = 1_000,
    cursor: str | None = None,
) -> Operation[SearchPage]:
    """Looks at most at ``scan`` messages of one state, going on at ``cursor``: for ``text`` in ids and contents, and
    for contents that ``where`` holds for (`rmq_core.model.comparison`). Raises `InvalidMessage`, `InvalidFilter`.
    """
    if not isinstance(text, str) or not isinstance(where, str) or not (text or where):
        raise InvalidMessage("the text to search for must not be empty")
    whole("scan", scan, 1, SCAN_MAX)
    as_bytes(text, "the text to search for")
    comparison = Comparison(where) if where else None
    tests = [with_text(text)] if text else []
    tests += [that_holds(comparison)] if comparison else []
    state = state_named(state)
    started, looked_before, position = _read_search_cursor(cursor)
    now = started or (yield from now_of(keyspace, topic))
    total = yield from _count(keyspace, topic, state, now)
    found_rows: list[MessageRow] = []
    looked = 0
    while looked < scan and len(found_rows) < limit:
        size = min(paging.PAGE_MAX, scan - looked)
        found, position = yield from paging.entries(keyspace, topic, state, now, limit=size, cursor=position)
        looked += len(found)
        for test in tests:
            found = yield from fulfilling(keyspace, topic, state, found, test)
        found_rows += yield from rows(keyspace, topic, state, found)
        if position is None:
            break
    seen = looked_before + looked
    following = json.dumps([now, seen, position]) if position else None
    next_cursor = base64.urlsafe_b64encode(following.encode()).decode() if following else None
    return SearchPage(tuple(found_rows), seen, total, next_cursor, comparison.not_json if comparison else 0)


def _read_search_cursor(cursor: str | None) -> tuple[int, int, str | None]:
    if not cursor:
        return 0, 0, None
    try:
        now, seen, position = json.loads(base64.urlsafe_b64decode(cursor))
        return int(now), int(seen), str(position)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise InvalidMessage("this cursor is not one of ours; begin again without it") from None


def _count(keyspace: Keyspace, topic: Topic, state: State, now: int) -> Operation[int]:
    """How many messages are in a state."""
    found = paging.window(topic, state, now)
    if found is None:
        return 0
    keys = [keyspace.slot_keys(topic.name, number)[found.queue] for number in range(topic.slots)]
    return sum((yield [("ZCOUNT", key, found.low, found.high) for key in keys]))
