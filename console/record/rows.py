"""The two statements the record is written with, the same for SQLite and PostgreSQL.

Django's own bulk upserts spend ten times as long on building SQL for rows that all look alike.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from django.db import connection

from console.models.record import MessageRecord, MessageTransition
from console.record.life import Life, Written

LOOKED_UP = 500
"""Keys in one query; SQLite takes 999 values in older builds."""

_LIFE = [each.name for each in fields(Life)]
_CHANGING = [name for name in _LIFE if name not in ("key", "topic", "slot", "ident", "first_ms")]
_STEP = [each.name for each in fields(Written)]


def read(keys: Sequence[uuid.UUID]) -> dict[uuid.UUID, Life]:
    """The records that are stored."""
    found = {}
    for at in range(0, len(keys), LOOKED_UP):
        rows = MessageRecord.objects.filter(pk__in=keys[at : at + LOOKED_UP]).values_list(*_LIFE)
        for row in rows.iterator(chunk_size=LOOKED_UP):
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
    quoted = ", ".join(connection.ops.quote_name(name) for name in names)
    table = connection.ops.quote_name(model._meta.db_table)
    sql = f"INSERT INTO {table} ({quoted}) VALUES ({', '.join(['%s'] * len(names))}) {conflict}"
    native = connection.features.has_native_uuid_field
    values = attrgetter(*names)
    at = names.index(uuid_column)
    rows = [values(each) for each in objects]
    if not native:
        rows = [(*row[:at], row[at].hex, *row[at + 1 :]) for row in rows]
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(sql, rows)
