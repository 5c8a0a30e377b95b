"""What is known of a message's handling: where it is, how far it is, what came of it."""

from __future__ import annotations

import json
from typing import Any

from rmq_core.errors import MessageFailed, NoResult
from rmq_core.model.ids import id_to_text, raw_id
from rmq_core.model.message import as_bytes
from rmq_core.model.report import Line, Report
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace, slot_for
from rmq_core.protocol.scripts import Operation, batches
from rmq_core.queries import by_id
from rmq_core.queries.present import now_of


def read(
    keyspace: Keyspace, topic: Topic, ident: str | bytes, slot_basis: str | bytes | None = None
) -> Operation[Report | None]:
    """Of the message with that id, in the slot its id or ``slot_basis`` names, else in whichever holds it.

    None: nothing is known of one, or no longer.
    """
    raw = raw_id(ident)
    likely = slot_for(raw if slot_basis is None else as_bytes(slot_basis, "slot_basis"), topic.slots)
    found = yield from _read(keyspace, topic, raw, [likely])
    if found is None and slot_basis is None:
        for some in batches(slot for slot in range(topic.slots) if slot != likely):
            found = found or (yield from _read(keyspace, topic, raw, some))
    return found


def _read(keyspace: Keyspace, topic: Topic, raw: bytes, slots: list[int]) -> Operation[Report | None]:
    # Looked for first: what has ended by then had told its result before.
    views = {}
    for slot in slots:
        if found := (yield from by_id.in_slot(keyspace, topic, raw, slot)):
            views[slot] = found[0]
    now = yield from now_of(keyspace, topic)
    told = yield from _told(keyspace, topic, raw, slots, now)
    for slot in slots:
        view, kept = views.get(slot), told.get(slot, {})
        if view is not None or kept:
            state = None if view is None else view.row.state
            return Report(id_to_text(raw), slot, state, failure=view.failure if view else None, **kept)
    return None


def _told(
    keyspace: Keyspace, topic: Topic, raw: bytes, slots: list[int], now: int
) -> Operation[dict[int, dict[str, Any]]]:
    requests: list[tuple[Any, ...]] = []
    for slot in slots:
        reports, ends = keyspace.slot(topic.name, slot).reports
        fields = [kind + raw for kind in (b"p", b"l", b"d", b"r")]
        requests += [("HMGET", reports, *fields), ("ZSCORE", ends, raw)]
    replies = yield requests
    return {
        slot: _values(fields, now)
        for slot, fields, end in zip(slots, replies[::2], replies[1::2], strict=True)
        if end is not None and float(end) > now
    }


def _values(fields: list[bytes | None], now: int) -> dict[str, Any]:
    progress, lines, dropped, result = fields
    values: dict[str, Any] = {"lines_dropped": int(dropped or 0)}
    if progress is not None:
        at_ms, _, told = progress.split(b" ", 2)
        values |= {"progress": _read_json(told), "progress_ms": int(at_ms)}
    if lines:
        values["lines"] = tuple(map(_line, lines.splitlines()))
    if result is not None:
        at_ms, until_ms, told = result.split(b" ", 2)
        if int(until_ms) > now:
            values |= {"result": _read_json(told), "result_ms": int(at_ms)}
    return values


def _read_json(told: bytes) -> Any:
    try:
        return json.loads(told)
    except (ValueError, RecursionError):  # an older release kept what is nested deeper than we can read here
        return None


def _line(line: bytes) -> Line:
    at_ms, attempt, text = line.split(b" ", 2)
    return Line(int(at_ms), int(attempt), json.loads(text))


def result_of(topic: str, ident: str | bytes, report: Report | None) -> Any:
    """What the listener returned. Raises `MessageFailed`, or `NoResult` where there is none (yet)."""
    if report is None:
        raise NoResult(f"nothing is known of a message {ident!r:.100} of topic {topic!r}: not sent, or long gone")
    if report.done:
        return report.result
    if report.state == "dead":
        why = f": {report.failure.error}: {report.failure.message}" if report.failure else ""
        raise MessageFailed(f"message {ident!r:.100} of topic {topic!r} is a dead letter{why}")
    if report.state is None:
        raise NoResult(f"no result of message {ident!r:.100} of topic {topic!r} is kept: see result_for_ms")
    raise NoResult(f"message {ident!r:.100} of topic {topic!r} has no result yet: it is {report.state}")
