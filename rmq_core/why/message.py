"""Why one message is late: its state, then what holds its slot up, then what stands before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rmq_core.model.entry import is_id
from rmq_core.model.group import Group
from rmq_core.model.holds import Hold, HoldOf
from rmq_core.model.ids import id_to_text, raw_id
from rmq_core.model.scores import LANE, LANES_FREE_FROM, RETRIED_MAX, exact, priority_of
from rmq_core.model.topic import Topic
from rmq_core.model.views import MessageView
from rmq_core.protocol import streams
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation
from rmq_core.queries import by_id
from rmq_core.queries.order import order
from rmq_core.why.answer import Reason, Why
from rmq_core.why.facts import Facts, Pace, look
from rmq_core.why.judging import around, holds, in_flight

AHEAD_MOST = 1_000
"""So many entries are counted; more are said to be more."""


def of_message(
    keyspace: Keyspace,
    topic: Topic,
    ident: str | bytes,
    slot_basis: str | bytes | None = None,
    slot: int | None = None,
    pace: Pace | None = None,
) -> Operation[Why]:
    """Of the message with that id, in the slot its basis names, in ``slot``, or wherever it is found first."""
    if slot is None:
        views = yield from by_id.find(keyspace, topic, ident, slot_basis)
    else:
        views = yield from by_id.in_slot(keyspace, topic, ident, slot)
    if views:
        row = views[0].row
        facts = yield from look(keyspace, topic, row.slot, pace)
        before = yield from _before(keyspace, topic, views[0])
        turn = yield from _turn(keyspace, topic, views[0], facts.now_ms)
        late_ms = None
        if topic.timed and row.score_ms is not None and row.state in {"ready", "retrying", "held"}:
            late_ms = max(0, facts.now_ms - row.score_ms)
        reasons = [turn] if turn else list(_reasons(facts, views[0], before))
        return Why(topic.name, row.slot, row.id, facts.now_ms, late_ms, tuple(reasons))
    return (yield from _absent(keyspace, topic, raw_id(ident), slot_basis, slot, pace))


def _reasons(facts: Facts, view: MessageView, before: dict[str, int]) -> Iterator[Reason]:
    state, row, now = view.row.state, view.row, facts.now_ms
    hold = _hold(facts, view)
    at_ms = row.score_ms or now
    error = view.failure.error if view.failure else "an error"
    failed = {"failures": row.failures, "error": error}
    if state == "dead":
        yield Reason("dead", failed | {"for_ms": max(0, now - at_ms), "at_ms": at_ms})
    elif state == "in_flight":
        timing = in_flight(facts, at_ms)
        if timing["over_ms"]:
            yield Reason("overdue", {"slot": row.slot, "id": row.id} | timing)
            yield from holds(facts)
        else:
            yield Reason("behind_itself" if len(view.states) > 1 and "dead" not in view.states else "in_flight", timing)
    elif view.expires_at_ms is not None and view.expires_at_ms <= now:
        yield Reason("expired", {"for_ms": now - view.expires_at_ms, "at_ms": view.expires_at_ms})
    elif state == "delayed":
        # It is not the clock of Redis that whoever waits for it looks at.
        if at_ms <= now + facts.clock_behind_ms:
            yield from around(facts)
        yield Reason("not_due", {"due_ms": at_ms, "left_ms": at_ms - now})
    elif hold is not None:
        yield _held(hold, now)
    elif state == "held" and (keys := facts.slots[0].sample.keys_waiting):
        yield Reason("key_full", {"limit": facts.topic.key_concurrency, "keys": keys})
    elif state == "retrying" and at_ms > now:
        yield Reason("backing_off", failed | {"due_ms": at_ms, "left_ms": at_ms - now})
    else:
        yield from _ready(facts, before)


def _turn(keyspace: Keyspace, topic: Topic, view: MessageView, now: int) -> Operation[Reason | None]:
    """What a version waits for, where that is a version before it."""
    key, _, version = view.row.raw_id.rpartition(b"#")
    if not topic.in_order or view.row.state != "held" or not version.isdigit():
        return None
    found = yield from order(keyspace, topic, key=key)
    for each in found.waiting:
        if each.slot == view.row.slot and each.next < int(version):
            code = f"behind_{each.awaited}" if each.blocked else "behind_version"
            since = {"since_ms": each.since_ms, "for_ms": max(0, now - each.since_ms)}
            return Reason(code, {"version": each.next} | since)
    return None


def _hold(facts: Facts, view: MessageView) -> Hold | None:
    """The hold that keeps it back, or will when a take meets it."""
    basis = view.slot_basis or view.row.raw_id
    keys: dict[HoldOf, bytes] = {"id": view.row.raw_id, "slot_basis": basis, "failure": basis}
    for hold in facts.slots[0].sample.holds:
        if hold.of == "failure" and hold.note == view.row.id:
            continue  # the others wait for this one
        if keys.get(hold.of) == hold.raw_key and (hold.until_ms is None or hold.until_ms > facts.now_ms):
            return hold
    return None


def _held(hold: Hold, now: int) -> Reason:
    if hold.of == "failure":
        about = {"id": hold.note, "since_ms": hold.since_ms, "for_ms": max(0, now - hold.since_ms)}
        return Reason("behind_failed", about)
    about = {"hold": hold.ref, "since_ms": hold.since_ms, "for_ms": max(0, now - hold.since_ms), "note": hold.note}
    if hold.until_ms is None:
        return Reason("held", about)
    return Reason("held_until", about | {"until_ms": hold.until_ms, "left_ms": max(0, hold.until_ms - now)})


def _ready(facts: Facts, before: dict[str, int]) -> Iterator[Reason]:
    reasons = [reason for reason in holds(facts) if reason.code != "suspects" or not before.get("suspect")]
    if before.get("suspect"):
        reasons.append(Reason("suspect"))
    if before.get("failures"):
        reasons.append(Reason("fresh_first", _only(before, "before", "failures")))
    elif before.get("others"):
        reasons.append(Reason("behind_turn", _only(before, "before", "others")))
    elif before.get("higher"):
        reasons.append(Reason("higher_first", _only(before, "before", "higher")))
    elif before.get("before"):
        reasons.append(Reason("behind", _only(before, "before")))
    reasons += around(facts)
    yield from reasons or [Reason("on_its_way")]


def _only(values: dict[str, int], *names: str) -> dict[str, int]:
    return {name: values[name] for name in names}


def _before(keyspace: Keyspace, topic: Topic, view: MessageView) -> Operation[dict[str, int]]:
    """What comes before a message in its slot."""
    row = view.row
    if row.state != "ready":
        return {}
    keys, ident = keyspace.slot(topic.name, row.slot), row.raw_id
    rank = "ZRANK" if topic.timed else "ZREVRANK"
    place, score, suspect = yield [
        (rank, keys.store, ident),
        ("ZSCORE", keys.store, ident),
        ("HEXISTS", keys.suspect, ident),
    ]
    found: dict[str, int] = {"before": int(place or 0), "suspect": int(suspect)}
    if topic.timed or score is None:
        return found
    value = exact(score)
    if value <= RETRIED_MAX:
        (fresh,) = yield [("ZCOUNT", keys.store, f"({RETRIED_MAX}", "+inf")]
        return found | {"before": int(fresh), "failures": row.failures} if fresh else found
    if value > LANE:
        of_tenant, tenants = yield [
            ("ZCOUNT", keys.store, f"({value}", (value // LANE + 1) * LANE),
            ("ZCOUNT", keys.lanes, "-inf", f"({LANES_FREE_FROM}"),
        ]
        return found | {"before": int(of_tenant), "others": int(tenants) - 1}
    (higher,) = yield [("ZCOUNT", keys.store, f"({priority_of(value)}", "+inf")]
    return found | {"higher": int(higher)}


def _absent(
    keyspace: Keyspace,
    topic: Topic,
    raw: bytes,
    slot_basis: str | bytes | None,
    slot: int | None,
    pace: Pace | None,
) -> Operation[Why]:
    """Of an id that no queue holds: an entry the group has not read or has finished; one in the trash; nothing."""
    if isinstance(topic, Group) and is_id(raw):
        found = yield from _entry(keyspace, topic, raw, slot, pace)
        if found is not None:
            return found
    gone = yield from by_id.removed(keyspace, topic, raw, slot_basis)
    gone = [view for view in gone if slot in (None, view.row.slot)]
    facts = yield from look(keyspace, topic, slot or 0)
    now, at = facts.now_ms, gone[0].row if gone else None
    reason = Reason("gone")
    if at is not None and at.score_ms is not None:
        reason = Reason("removed", {"for_ms": max(0, now - at.score_ms), "at_ms": at.score_ms})
    return Why(topic.name, at.slot if at else slot, id_to_text(raw), now, None, (reason,))


def _entry(keyspace: Keyspace, group: Group, raw: bytes, slot: int | None, pace: Pace | None) -> Operation[Why | None]:
    numbers = list(range(group.slots)) if slot is None else [slot]
    replies = yield [("XRANGE", keyspace.slot(group.topic_name, each).entries, raw, raw) for each in numbers]
    where = [number for number, entries in zip(numbers, replies, strict=True) if entries]
    if not where:
        return None
    facts = yield from look(keyspace, group, where[0], pace)
    sample, ident = facts.slots[0].sample, raw.decode()
    added_ms = int(ident.partition("-")[0])

    def why(*reasons: Reason, late_ms: int | None = None) -> Why:
        return Why(group.name, where[0], ident, facts.now_ms, late_ms, reasons)

    if sample.behind is None or _order(ident) <= _order(sample.behind):
        return why(Reason("finished"))
    reply = yield [streams.count(keyspace, group, where[0], f"({sample.behind}", f"({ident}", AHEAD_MOST)]
    values: dict[str, Any] = {"before": int(reply[0][0]), "capped": int(reply[0][0]) == AHEAD_MOST}
    reasons = [*holds(facts), Reason("ahead", values), *around(facts)]
    return why(*reasons, late_ms=max(0, facts.now_ms - added_ms))


def _order(ident: str) -> tuple[int, int]:
    ms, _, seq = ident.partition("-")
    return int(ms), int(seq)
