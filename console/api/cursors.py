"""Cursors of lists out of the database: a place, and a mark of the query it is a place of."""

from __future__ import annotations

import hashlib
import json

from console.api.errors import invalid

LONGEST = 80


def cursor_of(place: object, *query: str) -> str:
    """Where the next page begins, for this query alone."""
    return f"{place}.{_mark(query)}"


def place_in(cursor: str, *query: str) -> str:
    """The place a cursor names. Raises `ApiError` for one of another query, or none of ours."""
    place, _, mark = cursor.partition(".")
    if not place or mark != _mark(query):
        raise invalid("cursor", "this cursor belongs to another query; begin again without it")
    return place


def _mark(query: tuple[str, ...]) -> str:
    return hashlib.sha256(json.dumps(query).encode()).hexdigest()[:16]
