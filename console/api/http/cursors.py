"""Cursors of lists out of the database: a place, and a mark of the query it is a place of."""

from __future__ import annotations

import hashlib
import json
import re
import uuid

from console.api.http.errors import ApiError, invalid
from rmq_core.model.text import check_name

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


def number_in(cursor: str, *query: str) -> int:
    """The same where places are numbers of rows."""
    place = place_in(cursor, *query)
    if re.fullmatch("[0-9]{1,18}", place) is None:
        raise _not_ours()
    return int(place)


def ident_in(cursor: str, *query: str) -> uuid.UUID:
    """The same where they are ids of rows."""
    try:
        return uuid.UUID(place_in(cursor, *query))
    except ValueError:
        raise _not_ours() from None


def name_place(name: str) -> str:
    """A place of rows that are listed by their names: it stays one when that row is deleted."""
    return name.encode().hex()


def name_in(cursor: str, *query: str) -> str:
    """The name of such a place."""
    try:
        return check_name(bytes.fromhex(place_in(cursor, *query)).decode())
    except ValueError:  # also of what is no name, which no database may be asked for
        raise _not_ours() from None


def _not_ours() -> ApiError:
    return invalid("cursor", "is not one of ours")


def _mark(query: tuple[str, ...]) -> str:
    return hashlib.sha256(json.dumps(query).encode()).hexdigest()[:16]
