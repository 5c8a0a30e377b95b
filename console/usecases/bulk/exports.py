"""Dead letters (or another state) as JSON Lines or CSV: streamed, a bounded number of bytes in memory."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Any

from console.access import Permission, in_scope, require
from console.engine import engine
from console.serializers.follow_ups import Sees, headers_json
from console.serializers.text import csv_lines, json_lines
from console.usecases.actor import Actor
from console.usecases.audit import audited
from rmq_core.client.kinds import check_queue
from rmq_core.model.bodies import Body, decode_body
from rmq_core.model.filters import MessageFilter
from rmq_core.model.topic import Topic
from rmq_core.model.views import MessageRow
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation as Steps
from rmq_core.queries.contents import bodies
from rmq_core.queries.paging import Entry

SCAN = 500
BYTES_AT_ONCE = 4 * 1024 * 1024
COLUMNS = ("id", "slot", "state", "at_ms", "priority", "failures", "error", "size", "headers", "content", "encoding")


def export_dead(actor: Actor, topic: str, wanted: MessageFilter, form: str) -> Iterator[str]:
    """Dead letters that match, for somebody: recorded in the audit, for content leaves the console."""
    with audited(actor, "export", topic=topic, query={"filter": wanted.to_mapping(), "format": form}) as entry:
        require(actor.user, Permission.READ_PAYLOAD, topic)
        check_queue(engine().client.topic(topic))
        entry.done = 1
    return export(topic, wanted, form, lambda name: in_scope(actor.user, name))


def export(topic: str, wanted: MessageFilter, form: str, sees: Sees) -> Iterator[str]:
    """Everything a filter matches, with its content. Messages that come or go meanwhile may be in it or not.

    `at_ms`: the row's time (died, due, …); `encoding`: utf-8, or base64 for content that is no text.
    """
    client, inspector = engine().client, engine().inspector
    definition = client.topic(topic)
    cursor: str | None = None
    while True:
        found = inspector.select(topic, wanted, cursor=cursor, scan=SCAN)
        if form == "csv" and cursor is None:  # what is refused is refused before anything is said
            yield csv_lines([COLUMNS])
        for rows in by_size(found.rows, BYTES_AT_ONCE):
            found_bodies = client.run(_bodies(client.keyspace, definition, rows))
            lines = [_line(row, body, sees) for row, body in zip(rows, found_bodies, strict=True)]
            if form == "csv":
                yield csv_lines([_cell(line[name]) for name in COLUMNS] for line in lines)
            else:
                yield json_lines(lines)
        cursor = found.next_cursor
        if cursor is None:
            return


def by_size(rows: Sequence[MessageRow], most: int) -> Iterator[list[MessageRow]]:
    """Rows in groups whose contents together have at most so many bytes; a larger one is a group by itself."""
    some: list[MessageRow] = []
    size = 0
    for row in rows:
        if some and size + row.size > most:
            yield some
            some, size = [], 0
        some.append(row)
        size += row.size
    if some:
        yield some


def _bodies(keyspace: Keyspace, topic: Topic, rows: Sequence[MessageRow]) -> Steps[list[Body | None]]:
    """The body of each row (all of one state); None where it went away meanwhile."""
    entries = [Entry(0, row.slot, row.raw_id) for row in rows]
    stored = yield from bodies(keyspace, topic, rows[0].state, entries)
    return [_body(row, body) for row, body in zip(rows, stored, strict=True)]


def _body(row: MessageRow, stored: bytes | None) -> Body | None:
    if stored is not None:
        return decode_body(stored)
    return Body(row.raw_id, {}, 0) if row.size == len(row.raw_id) else None


def _line(row: MessageRow, body: Body | None, sees: Sees) -> dict[str, Any]:
    content, encoding = _text(body.content) if body is not None else (None, None)
    return {
        "id": row.id,
        "slot": row.slot,
        "state": row.state,
        "at_ms": row.score_ms,
        "priority": row.priority,
        "failures": row.failures,
        "error": row.error,
        "size": row.size,
        "headers": headers_json(body.headers, sees) if body is not None else {},
        "content": content,
        "encoding": encoding,
    }


def _text(content: bytes) -> tuple[str, str]:
    try:
        return content.decode(), "utf-8"
    except UnicodeDecodeError:
        return base64.b64encode(content).decode(), "base64"


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
