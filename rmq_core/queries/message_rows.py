"""Messages of one state as rows, a page at a time."""

from __future__ import annotations

from dataclasses import replace

from rmq_core.model.bodies import decode_body
from rmq_core.model.fingerprints import UNKNOWN
from rmq_core.model.scores import RETRIED_MAX, SHIFT, due_of, exact, failures_of, is_retried, plain_of, priority_of
from rmq_core.model.states import State, state_named
from rmq_core.model.topic import Topic
from rmq_core.model.views import PREVIEW_BYTES, FailureRecord, MessageRow, Page
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation
from rmq_core.protocol.slot_calls import on_ids
from rmq_core.queries import paging
from rmq_core.queries.paging import Entry
from rmq_core.queries.portions import portions
from rmq_core.queries.present import now_ms, now_of
from rmq_core.queries.trash import Trashed


def page(
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
    state = state_named(state)
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
    ids = {number: [entry.id for entry in some] for number, some in by_slot.items()}
    cut = yield from portions(keyspace, topic, "view", ids)
    replies = yield [on_ids("view", keyspace, topic, number, ids[number][part]) for number, part in cut]
    known = {
        (number, each): view
        for (number, part), reply in zip(cut, replies, strict=True)
        for each, view in zip(ids[number][part], reply, strict=True)
    }
    return tuple(row_of(topic, state, entry, known[entry.slot, entry.id]) for entry in found)


def _trash_rows(keyspace: Keyspace, topic: Topic, found: list[Entry]) -> Operation[tuple[MessageRow, ...]]:
    now = yield from now_ms(keyspace)
    replies = yield [("HGET", keyspace.slot(topic.name, entry.slot).trashed, entry.id) for entry in found]
    return tuple(
        trash_row(topic, entry, Trashed.read(packed), now)
        for entry, packed in zip(found, replies, strict=True)
        if packed
    )


def trash_row(topic: Topic, entry: Entry, trashed: Trashed, now: int) -> MessageRow:
    was = trashed.was(topic, now)
    origin = Entry(trashed.score, entry.slot, entry.id)
    priority = b"" if trashed.priority is None else b"%d" % trashed.priority
    pools = [trashed.body or b"", trashed.failed or b"", priority, b"", b"", b""]
    row = row_of(topic, was, origin, [b"", b"", b"", b"", *pools])
    failure = FailureRecord.read(trashed.failed) if trashed.failed else None
    return replace(
        row,
        state="trash",
        place=None,
        was=was,
        score_ms=due_of(entry.score),
        fingerprint=trashed.fingerprint(failure),
    )


def pools_of(state: State, view: list[bytes]) -> tuple[bytes, bytes, bytes, bytes]:
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


def row_of(topic: Topic, state: State, entry: Entry, view: list[bytes]) -> MessageRow:
    body, failed, stored_priority, cause = pools_of(state, view)
    failure = FailureRecord.read(failed) if failed else None
    content = decode_body(body).content if body else entry.id
    retries = topic.max_retries
    if state == "dead":
        failures, left = (failure.failures if failure else 0), None
    elif state in {"retrying", "held", "in_flight"}:
        failures = int(entry.score) % SHIFT
        # The attempt that waits is a retry itself; the one in flight no longer counts.
        left = max(0, retries - failures + (state != "in_flight" and failures > 0))
    else:
        failures = failures_of(entry.score, retries)
        left = min(retries, int(entry.score)) if is_retried(entry.score) else retries
    priority = None
    if not topic.timed:
        in_store = state in {"ready", "delayed"} and entry.score > RETRIED_MAX
        stored = entry.score if in_store else float(stored_priority or 0)
        priority = priority_of(stored) if stored > RETRIED_MAX else None
    score_ms = paging.entry_ms(topic, state, entry)
    if state == "held" and topic.timed and not failures and stored_priority:
        score_ms = due_of(float(stored_priority))  # its place in the store
    return MessageRow(
        slot=entry.slot,
        raw_id=entry.id,
        state=state,
        score_ms=score_ms,
        priority=priority,
        failures=failures,
        retries_left=left,
        error=f"{failure.error}: {failure.message}" if failure else None,
        receipt=int(entry.score) if state == "in_flight" else None,
        size=len(content),
        preview=content[:PREVIEW_BYTES],
        fingerprint=(cause.decode() or UNKNOWN) if state == "dead" else failure.fingerprint if failure else None,
        place=_place(topic, state, entry.score, failures, stored_priority),
    )


def _place(topic: Topic, state: State, score: float, failures: int, stored: bytes) -> float | None:
    if state not in {"delayed", "ready", "retrying", "held"} or topic.is_group:
        return None
    if failures:
        return 0
    if state in {"retrying", "held"}:
        if state == "retrying" or not stored:
            return None
        score = exact(stored)
    return score if topic.timed else plain_of(score)
