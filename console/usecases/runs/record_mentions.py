"""What the console's record says of erased messages in the bodies of others: found there, and taken out.

The record has no index of who mentions whom, so the database looks through the bodies it keeps, for those that bear one
of two headers; a part of these at a time is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import F, Func, IntegerField, Q, QuerySet, Value

from console.engine import engine
from console.models import MessageRecord
from console.query_parts import in_parts
from rmq_core.model.topic import Topic
from rmq_core.ops.mentions import MARKS, Gone, Told, redacted, told_of
from rmq_core.queries import definitions


class Mentioning(NamedTuple):
    """A row of the record that mentions what is gone, and its body without that."""

    topic: str
    slot: int
    id: bytes
    key: UUID
    body: bytes


class _Found(Func):
    """Where one text of bytes begins in another; 0: nowhere."""

    function = "INSTR"
    output_field = IntegerField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        within, sought = self.source_expressions
        turned = self.copy()
        turned.source_expressions = [sought, within]
        return turned.as_sql(compiler, connection, function="POSITION", arg_joiner=" IN ", **context)


def mentioning(gone: Gone) -> Iterator[Mentioning]:
    """Rows that mention what is gone, and are not gone themselves."""
    rows = _bearing_a_mark(MessageRecord.objects.filter(body__isnull=False))
    for row in rows.only("topic", "slot", "ident", "body").iterator(chunk_size=500):
        of, id = row.topic.partition("@")[0], bytes(row.ident)
        if gone.has(of, id):
            continue
        body, mentioned = redacted(of, row.slot, id, bytes(row.body or b""), gone)
        if mentioned:
            yield Mentioning(row.topic, row.slot, id, row.key, body)


def told(keys: Sequence[UUID]) -> dict[Told, bytes]:
    """What rows of the record followed, and their ids."""
    found = {}
    for some in in_parts(keys):
        rows = _bearing_a_mark(MessageRecord.objects.filter(pk__in=some, body__isnull=False))
        for row in rows.only("topic", "ident", "body"):
            if one := told_of(row.topic.partition("@")[0], bytes(row.body or b"")):
                found[one] = bytes(row.ident)
    return found


def topics() -> dict[str, tuple[Topic, ...]]:
    """The topics there are, by which follow-ups have their ids."""
    client = engine().client
    return {topic.name: (topic,) for topic in client.run(definitions.read_all(client.keyspace))}


def write(rows: Collection[Mentioning]) -> None:
    """The bodies that are left."""
    for row in rows:
        MessageRecord.objects.filter(pk=row.key).update(body=row.body)


def _bearing_a_mark(rows: QuerySet[MessageRecord]) -> QuerySet[MessageRecord]:
    several = {f"mark_{at}": _Found(F("body"), Value(mark)) for at, mark in enumerate(MARKS)}
    wanted = Q()
    for name in several:
        wanted |= Q(**{f"{name}__gt": 0})
    return rows.alias(**several).filter(wanted)
