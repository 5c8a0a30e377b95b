"""The statements the record is written with, into SQLite and PostgreSQL.

Django's own bulk upserts spend ten times as long on building SQL for rows that all look alike.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from django.db import connection

from console.models.record import MessageRecord, MessageTransition
from console.query_parts import in_parts
from console.record.life import Life, Written

CHARACTERS_IN_A_STATEMENT = 8_000_000
"""Contents may be large, and PostgreSQL takes no value of more than a gigabyte."""

_LIFE = [each.name for each in fields(Life)]
_CHANGING = [name for name in _LIFE if name not in ("key", "topic", "slot", "ident", "first_ms")]
_STEP = [each.name for each in fields(Written)]


def read(keys: Sequence[uuid.UUID]) -> dict[uuid.UUID, Life]:
    """The records that are stored."""
    found = {}
    for some in in_parts(keys):
        for row in MessageRecord.objects.filter(pk__in=some).values_list(*_LIFE):
            life = Life(*row)
            life.ident = bytes(life.ident)
            found[life.key] = life
    return found


def write_lives(lives: Iterable[Life]) -> None:
    """Insert or replace records."""
    changed = ", ".join(f"{name} = excluded.{name}" for name in _CHANGING)
    _many(MessageRecord, _LIFE, f"ON CONFLICT (key) DO UPDATE SET {changed}", "key", lives)


def write_steps(steps: Iterable[Written]) -> None:
    """Insert transitions; those that are there already stay as they are."""
    _many(MessageTransition, _STEP, "ON CONFLICT (message, at_ms, entry, seq) DO NOTHING", "message", steps)


def _many(model: Any, names: list[str], conflict: str, uuid_column: str, objects: Iterable[Any]) -> None:
    values = attrgetter(*names)
    rows = [values(each) for each in objects]
    if not rows:
        return
    into = f"INSERT INTO {_quoted(model._meta.db_table)} ({', '.join(map(_quoted, names))})"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # All rows as one value: binding each of their fields by itself takes longer than the insert.
            types = ", ".join(f"{_quoted(name)} {model._meta.get_field(name).db_type(connection)}" for name in names)
            chosen = f"SELECT * FROM json_to_recordset(%s::json) AS given({types})"
            for text in _json(names, rows):
                cursor.execute(f"{into} {chosen} {conflict}", [text])
        else:
            at = names.index(uuid_column)
            marks = ", ".join(["%s"] * len(names))
            plain = [(*row[:at], row[at].hex, *row[at + 1 :]) for row in rows]
            cursor.executemany(f"{into} VALUES ({marks}) {conflict}", plain)


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)


def _json(names: list[str], rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    """Rows as arrays of objects, none much longer than `CHARACTERS_IN_A_STATEMENT`."""
    encode = json.JSONEncoder(default=_json_value).encode
    some: list[str] = []
    length = 0
    for row in rows:
        text = encode(dict(zip(names, row, strict=True)))
        some.append(text)
        length += len(text)
        if length >= CHARACTERS_IN_A_STATEMENT:
            yield f"[{','.join(some)}]"
            some, length = [], 0
    if some:
        yield f"[{','.join(some)}]"


def _json_value(value: Any) -> str:
    return value.hex if isinstance(value, uuid.UUID) else "\\x" + bytes(value).hex()
