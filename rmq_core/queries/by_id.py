"""Messages found by their id: live, dead, or removed a while ago."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rmq_core.model.bodies import Body, basis_of, decode_body
from rmq_core.model.holds import HELD_FROM
from rmq_core.model.ids import raw_id
from rmq_core.model.message import as_bytes
from rmq_core.model.scores import exact
from rmq_core.model.states import State
from rmq_core.model.topic import Topic
from rmq_core.model.views import FailureRecord, MessageView
from rmq_core.protocol.keys import Keyspace, slot_for
from rmq_core.protocol.scripts import Operation, batches
from rmq_core.protocol.slot_calls import on_ids
from rmq_core.queries.message_rows import pools_of, row_of, trash_row
from rmq_core.queries.paging import Entry
from rmq_core.queries.present import now_of
from rmq_core.queries.trash import Trashed


def find(
    keyspace: Keyspace, topic: Topic, ident: str | bytes, slot_basis: str | bytes | None = None
) -> Operation[list[MessageView]]:
    """Every message with that id: in the slot its id or ``slot_basis`` names, else in whichever slots hold it."""
    return _looked_for(_views, keyspace, topic, ident, slot_basis)


def in_slot(
    keyspace: Keyspace, topic: Topic, ident: str | bytes, slot: int, state: State | None = None
) -> Operation[list[MessageView]]:
    """The message with that id in one slot, if it is there; ``state``: the copy of it that is in this one."""
    return (yield from _views(keyspace, topic, raw_id(ident), [slot], state))


def likely(keyspace: Keyspace, topics: Sequence[Topic], ident: str | bytes) -> Operation[list[str]]:
    """Which of many topics have a message with that id in the slot it leads to; other slots are not looked at."""
    raw, found = raw_id(ident), []
    for some in batches(topics):
        now = yield from now_of(keyspace, some[0])
        slots = [slot_for(raw, topic.slots) for topic in some]
        replies = yield [on_ids("view", keyspace, topic, at, [raw]) for topic, at in zip(some, slots, strict=True)]
        for topic, at, reply in zip(some, slots, replies, strict=True):
            if _view(topic, at, raw, reply[0], now) is not None:
                found.append(topic.name)
    return found


def _views(
    keyspace: Keyspace, topic: Topic, raw: bytes, slots: Sequence[int], state: State | None = None
) -> Operation[list[MessageView]]:
    now = yield from now_of(keyspace, topic)
    replies = yield [on_ids("view", keyspace, topic, number, [raw]) for number in slots]
    found = [_view(topic, number, raw, reply[0], now, state) for number, reply in zip(slots, replies, strict=True)]
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
                row=trash_row(topic, Entry(int(float(score)), number, raw), trashed, now),
                states=("trash",),
                content=body.content,
                headers=body.headers,
                version=body.version,
                failure=FailureRecord.read(trashed.failed) if trashed.failed else None,
                slot_basis=basis_of(raw, body),
                expires_at_ms=body.expires_at_ms,
                tenant=body.tenant,
            )
        )
    return views


def _view(
    topic: Topic, number: int, raw: bytes, reply: list[bytes], now: int, wanted: State | None = None
) -> MessageView | None:
    store, retry, prepare, dead = reply[:4]
    later: State = "held" if retry and float(retry) >= HELD_FROM else "retrying"
    copies: list[tuple[State, bytes]] = [("in_flight", prepare), (later, retry), ("dead", dead)]
    if store:
        delayed = topic.timed and float(store) >= now + 1
        copies.insert(1, ("delayed" if delayed else "ready", store))
    present = [(state, exact(score)) for state, score in copies if score]
    shown = [copy for copy in present if wanted in (None, copy[0])]
    if not shown:
        return None
    state, score = shown[0]
    body, failed, _, _ = pools_of(state, reply)
    decoded = decode_body(body) if body else Body(raw, {}, 0)
    return MessageView(
        row=row_of(topic, state, Entry(score, number, raw), reply),
        states=tuple(state for state, _ in present),
        content=decoded.content,
        headers=decoded.headers,
        version=decoded.version,
        failure=FailureRecord.read(failed) if failed else None,
        slot_basis=basis_of(raw, decoded),
        expires_at_ms=decoded.expires_at_ms,
        tenant=decoded.tenant,
    )
