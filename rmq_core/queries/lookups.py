"""Messages and slots, one by one and in lists, as sans-IO operations; see `client.inspector` for the two shells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rmq_core.model.bounds import whole
from rmq_core.model.fingerprints import UNKNOWN
from rmq_core.model.message import Body, as_bytes, basis_of, decode_body, raw_id
from rmq_core.model.scores import RETRIED_MAX, SHIFT, due_of, exact, failures_of, is_retried, priority_of
from rmq_core.model.stats import Histogram
from rmq_core.model.topic import Topic
from rmq_core.model.views import (
    PREVIEW_BYTES,
    Ages,
    FailureRecord,
    MessageRow,
    MessageView,
    Page,
    SlotDetail,
    State,
)
from rmq_core.protocol.keys import Keyspace, slot_for
from rmq_core.protocol.scripts import Call, Operation, batches, on_ids, script, snapshot
from rmq_core.queries import paging
from rmq_core.queries.paging import Entry
from rmq_core.queries.present import now_ms, now_of
from rmq_core.queries.sampling import slot_sample
from rmq_core.queries.trash import Trashed

SLOTS_AT_ONCE = 128
AGES_MOST = 2_000
DAY_MINUTES = 1_440


def slot(keyspace: Keyspace, topic: Topic, number: int, heads: int = 10) -> Operation[SlotDetail]:
    """One slot: its counts, the messages it will hand out next, and those it has handed out."""
    yield from now_of(keyspace, topic, number)
    (row,) = yield [snapshot(keyspace, topic, number)]
    only = range(number, number + 1)
    now = row[0]
    descending = not topic.timed
    state: State = "ready" if row[2] or descending else "delayed"
    found, _ = yield from paging.entries(keyspace, topic, state, now, slots=only, descending=descending, limit=heads)
    held, _ = yield from paging.entries(keyspace, topic, "in_flight", now, slots=only, limit=heads)
    heads_rows = yield from rows(keyspace, topic, state, found)
    return SlotDetail(slot_sample(number, row), heads_rows, (yield from rows(keyspace, topic, "in_flight", held)))


# -- lists -------------------------------------------------------------------------------------------------------


def messages(
    keyspace: Keyspace,
    topic: Topic,
    state: State,
    *,
    slot: int | None = None,
    newest: bool = False,
    limit: int = 50,
    cursor: str | None = None,
) -> Operation[Page]:
    """One page of a state over all slots (or one). ``newest``: latest time, or lowest priority, first."""
    now = yield from now_of(keyspace, topic, slot)
    ranked = state == "ready" and not topic.timed
    found, following = yield from paging.entries(
        keyspace,
        topic,
        state,
        now,
        slots=None if slot is None else range(slot, slot + 1),
        descending=newest != ranked,
        limit=limit,
        cursor=cursor,
    )
    return Page((yield from rows(keyspace, topic, state, found)), following, now)


def rows(keyspace: Keyspace, topic: Topic, state: State, found: list[Entry]) -> Operation[tuple[MessageRow, ...]]:
    """Entries of one state, filled in; of the trash, only those that are still there."""
    if state == "trash":
        return (yield from _trash_rows(keyspace, topic, found))
    by_slot: dict[int, list[Entry]] = {}
    for entry in found:
        by_slot.setdefault(entry.slot, []).append(entry)
    replies = yield [
        on_ids("view", keyspace, topic, number, [entry.id for entry in some]) for number, some in by_slot.items()
    ]
    known = {
        (number, entry.id): view
        for (number, some), reply in zip(by_slot.items(), replies, strict=True)
        for entry, view in zip(some, reply, strict=True)
    }
    return tuple(_row(topic, state, entry, known[entry.slot, entry.id]) for entry in found)


def _trash_rows(keyspace: Keyspace, topic: Topic, found: list[Entry]) -> Operation[tuple[MessageRow, ...]]:
    now = yield from now_ms(keyspace)
    replies = yield [("HGET", keyspace.slot(topic.name, entry.slot).trashed, entry.id) for entry in found]
    return tuple(
        _trash_row(topic, entry, Trashed.read(packed), now)
        for entry, packed in zip(found, replies, strict=True)
        if packed
    )


def _trash_row(topic: Topic, entry: Entry, trashed: Trashed, now: int) -> MessageRow:
    was = trashed.was(topic, now)
    origin = Entry(trashed.score, entry.slot, entry.id)
    priority = b"" if trashed.priority is None else b"%d" % trashed.priority
    pools = [trashed.body or b"", trashed.failed or b"", priority, b"", b"", b""]
    row = _row(topic, was, origin, [b"", b"", b"", b"", *pools])
    failure = FailureRecord.read(trashed.failed) if trashed.failed else None
    return replace(
        row,
        state="trash",
        was=was,
        score_ms=due_of(entry.score),
        fingerprint=trashed.fingerprint(failure),
    )


def _pools(state: State, view: list[bytes]) -> tuple[bytes, bytes, bytes, bytes]:
    """Body, failure record, priority and cluster of one copy of an id, out of what ``view.lua`` replied."""
    body, failed, priority, cause = view[4:8]
    replaced, record = view[8:10] or (b"", b"")
    if state == "in_flight" and replaced:
        body = replaced[2:]
    if state == "dead" and record:
        dead = Trashed.read(record)
        body, failed = dead.body or b"", dead.failed or b""
        priority = b"" if dead.priority is None else b"%d" % dead.priority
    return body, failed, priority, cause


def _row(topic: Topic, state: State, entry: Entry, view: list[bytes]) -> MessageRow:
    body, failed, stored_priority, cause = _pools(state, view)
    failure = FailureRecord.read(failed) if failed else None
    content = decode_body(body).content if body else entry.id
    retries = topic.max_retries
    if state == "dead":
        failures, left = (failure.failures if failure else 0), None
    elif state in {"waiting", "in_flight"}:
        failures = int(entry.score) % SHIFT
        # The attempt that waits is a retry itself; the one in flight no longer counts.
        left = max(0, retries - failures + (state == "waiting" and failures > 0))
    else:
        failures = failures_of(entry.score, retries)
        left = min(retries, int(entry.score)) if is_retried(entry.score) else retries
    priority = None
    if not topic.timed:
        in_store = state in {"ready", "delayed"} and entry.score > RETRIED_MAX
        stored = entry.score if in_store else float(stored_priority or 0)
        priority = priority_of(stored) if stored > RETRIED_MAX else None
    return MessageRow(
        slot=entry.slot,
        raw_id=entry.id,
        state=state,
        score_ms=paging.entry_ms(topic, state, entry),
        priority=priority,
        failures=failures,
        retries_left=left,
        error=f"{failure.error}: {failure.message}" if failure else None,
        receipt=int(entry.score) if state == "in_flight" else None,
        size=len(content),
        preview=content[:PREVIEW_BYTES],
        fingerprint=(cause.decode() or UNKNOWN) if state == "dead" else failure.fingerprint if failure else None,
    )


def prepare_ages(keyspace: Keyspace, topic: Topic) -> Operation[Ages]:
    """How long deliveries have been in flight; the oldest of each slot, `AGES_MOST` in all."""
    now = yield from now_of(keyspace, topic)
    share = max(1, AGES_MOST // topic.slots)
    keys = [keyspace.slot(topic.name, number).prepare for number in range(topic.slots)]
    requests: list[tuple[Any, ...]] = []
    for key in keys:
        requests += [("ZRANGE", key, 0, share - 1, "WITHSCORES"), ("ZCARD", key)]
    replies = yield requests
    ages: list[int] = []
    held = 0
    for found, count in zip(replies[::2], replies[1::2], strict=True):
        held += count
        ages += [max(0, now - score // SHIFT) for score in _scores(found)]
    return Ages(Histogram.of(ages), len(ages), len(ages) < held)


def _scores(reply: list[Any]) -> list[int]:
    """Scores of a WITHSCORES reply, which redis-py gives as pairs or flat by protocol."""
    if reply and isinstance(reply[0], (tuple, list)):
        return [int(float(score)) for _, score in reply]
    return [int(float(score)) for score in reply[1::2]]


def forecast(keyspace: Keyspace, topic: Topic, minutes: int = 60) -> Operation[tuple[int, ...]]:
    """Messages (delayed and waiting for a retry) that become due in each of the coming minutes."""
    whole("minutes", minutes, 1, DAY_MINUTES)
    now = yield from now_of(keyspace, topic)
    totals = [0] * minutes
    for some in batches(range(topic.slots), SLOTS_AT_ONCE):
        for counts in (yield [_forecast(keyspace, topic, number, now, minutes) for number in some]):
            if counts:
                totals = [total + count for total, count in zip(totals, counts, strict=True)]
    return tuple(totals)


def _forecast(keyspace: Keyspace, topic: Topic, number: int, now: int, minutes: int) -> Call:
    keys = keyspace.slot(topic.name, number)
    return Call(script("forecast"), [keys.store, keys.retry], [now, minutes, int(topic.timed)])


# -- one message -------------------------------------------------------------------------------------------------


def find(
    keyspace: Keyspace, topic: Topic, ident: str | bytes, slot_basis: str | bytes | None = None
) -> Operation[list[MessageView]]:
    """Every message with that id: in the slot its id or ``slot_basis`` names, else in whichever slots hold it."""
    return _looked_for(_views, keyspace, topic, ident, slot_basis)


def _views(keyspace: Keyspace, topic: Topic, raw: bytes, slots: Sequence[int]) -> Operation[list[MessageView]]:
    now = yield from now_of(keyspace, topic)
    replies = yield [on_ids("view", keyspace, topic, number, [raw]) for number in slots]
    found = [_view(topic, number, raw, reply[0], now) for number, reply in zip(slots, replies, strict=True)]
    return [view for view in found if view is not None]


def removed(
    keyspace: Keyspace, topic: Topic, ident: str | bytes, slot_basis: str | bytes | None = None
) -> Operation[list[MessageView]]:
    """What was cancelled or dropped under that id and can still be restored; looked for as by `find`."""
    return _looked_for(_removed, keyspace, topic, ident, slot_basis)


def _looked_for(
    look: Callable[[Keyspace, Topic, bytes, Sequence[int]], Operation[list[MessageView]]],
    keyspace: Keyspace,
    topic: Topic,
    ident: str | bytes,
    slot_basis: str | bytes | None,
) -> Operation[list[MessageView]]:
    raw = raw_id(ident)
    basis = raw if slot_basis is None else as_bytes(slot_basis, "slot_basis")
    likely = slot_for(basis, topic.slots)
    views = yield from look(keyspace, topic, raw, [likely])
    if not views and slot_basis is None:
        for some in batches(number for number in range(topic.slots) if number != likely):
            views += yield from look(keyspace, topic, raw, some)
    return views


def _removed(keyspace: Keyspace, topic: Topic, raw: bytes, slots: Sequence[int]) -> Operation[list[MessageView]]:
    now = yield from now_of(keyspace, topic)
    requests: list[tuple[Any, ...]] = []
    for number in slots:
        keys = keyspace.slot(topic.name, number)
        requests += [("ZSCORE", keys.trash, raw), ("HGET", keys.trashed, raw)]
    replies = yield requests
    views = []
    for number, score, packed in zip(slots, replies[::2], replies[1::2], strict=True):
        if score is None or packed is None or float(score) <= now - topic.undo_ms:
            continue
        trashed = Trashed.read(packed)
        body = trashed.decoded(raw)
        views.append(
            MessageView(
                row=_trash_row(topic, Entry(int(float(score)), number, raw), trashed, now),
                states=("trash",),
                content=body.content,
                headers=body.headers,
                version=body.version,
                failure=FailureRecord.read(trashed.failed) if trashed.failed else None,
                slot_basis=basis_of(raw, body),
            )
        )
    return views


def _view(topic: Topic, number: int, raw: bytes, reply: list[bytes], now: int) -> MessageView | None:
    store, retry, prepare, dead = reply[:4]
    held: list[tuple[State, bytes]] = [("in_flight", prepare), ("waiting", retry), ("dead", dead)]
    if store:
        delayed = topic.timed and float(store) >= now + 1
        held.insert(1, ("delayed" if delayed else "ready", store))
    present = [(state, exact(score)) for state, score in held if score]
    if not present:
        return None
    state, score = present[0]
    body, failed, _, _ = _pools(state, reply)
    decoded = decode_body(body) if body else Body(raw, {}, 0)
    return MessageView(
        row=_row(topic, state, Entry(score, number, raw), reply),
        states=tuple(state for state, _ in present),
        content=decoded.content,
        headers=decoded.headers,
        version=decoded.version,
        failure=FailureRecord.read(failed) if failed else None,
        slot_basis=basis_of(raw, decoded),
    )
