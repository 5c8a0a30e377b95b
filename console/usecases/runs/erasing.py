"""Erasing somebody's messages: whose, and what the console itself has recorded of them.

The pipeline erases archive and closing state. Here go the record's rows and what findings say, of the same messages:
out of both somebody could put one back. Whose messages they were is kept no longer than it is needed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext

from console.engine import engine
from console.errors import BadRequest
from console.models import Finding, MessageRecord, MessageTransition, Reconciliation
from console.query_parts import in_parts
from console.usecases.audit import check_reason
from console.usecases.runs import record_mentions, run_places
from console.usecases.runs.record_mentions import Mentioning
from rmq_core.errors import InvalidMessage
from rmq_core.figures import digits
from rmq_core.model.entry import is_id
from rmq_core.model.ids import id_from_text, id_to_text
from rmq_core.ops.mentions import Gone

NAMES_MOST = 1_000
"""Ids and slot bases that a run takes; the command line takes more."""
NAMES_KEPT = timedelta(days=1)
"""How long a preview knows whose messages it counted, for the erasure that may follow."""
KEYS = ("ids", "slot_bases")
QUEUES = ("store", "retry", "prepare", "dead", "trash")


@dataclass(frozen=True)
class Names:
    """Whose messages: by id, or all with a slot basis; in their printable form."""

    ids: tuple[str, ...] = ()
    slot_bases: tuple[str, ...] = ()

    def stored(self) -> dict[str, Any]:
        """For the run, while it needs them."""
        return {"ids": [*self.ids], "slot_bases": [*self.slot_bases], **self.counts()}

    def counts(self) -> dict[str, int]:
        """What may be kept of them."""
        return {"ids_n": len(self.ids), "slot_bases_n": len(self.slot_bases)}


class Place(NamedTuple):
    """Where a message was."""

    topic: str
    slot: int
    ident: str


def check(names: Names | None, reason: str, *, dry_run: bool) -> None:
    """Raises `BadRequest` for what is no erasure."""
    if names is None or not (names.ids or names.slot_bases):
        raise BadRequest(gettext("Say whose messages: ids, or slot bases."))
    if len(names.ids) + len(names.slot_bases) > NAMES_MOST:
        raise BadRequest(
            gettext("At most %(most)s at a time; the command line takes more.") % {"most": digits(NAMES_MOST)}
        )
    for each in (*names.ids, *names.slot_bases):
        try:
            raw = id_from_text(each)
        except InvalidMessage as error:
            raise BadRequest(str(error)) from None
        if not raw:
            raise BadRequest(gettext("An id is not empty."))
        if not each.isprintable():
            raise BadRequest(gettext("What cannot be printed is written as “%” and hex digits."))
    check_reason(reason, needed=not dry_run)


def names_of(preview: Reconciliation) -> Names:
    """Whose messages a dry run has counted. Raises `BadRequest` where it says that no longer."""
    asked = preview.asked
    if preview.kind != "erase" or not asked.get("dry_run") or preview.state != Reconciliation.State.DONE:
        raise BadRequest(gettext("This is no preview of an erasure that has come to its end."))
    found = Names(*(tuple(str(each) for each in asked.get(key) or ()) for key in KEYS))
    if not (found.ids or found.slot_bases):
        raise BadRequest(gettext("This preview has forgotten whose messages it counted: make another one."))
    return found


def end(run: Reconciliation) -> dict[str, Any]:
    """What the console does when the program has ended; returns what its summary is to say. Of a dry run it only
    counts."""
    erased, names = run.summary.get("erased"), Names(*(tuple(run.asked.get(key) or ()) for key in KEYS))
    dry_run = bool(run.asked.get("dry_run"))
    if not dry_run:
        run.asked = _forgotten(run.asked)
    if not erased:
        return {}
    left = {(each["topic"], id_from_text(each["id"])) for each in erased["left"]}
    counts = _of_console(run.topics, names, left, dry_run=dry_run)
    if not dry_run and not erased["left_n"]:
        _forget_previews(names)
    return {"erased": erased | counts}


def forget_names(now: datetime) -> None:
    """Of runs that ended long ago, also those whose worker has died."""
    ended = Reconciliation.objects.filter(kind="erase").exclude(state__in=Reconciliation.LIVE)
    for run in ended.filter(created__lt=now - NAMES_KEPT).only("kind", "asked", "summary"):
        run_places.forget_named(run)
        if any(run.asked.get(key) for key in KEYS) or (run.summary.get("erased") or {}).get("left"):
            summary = {**run.summary, "erased": {**(run.summary.get("erased") or {}), "left": []}}
            Reconciliation.objects.filter(pk=run.pk).update(asked=_forgotten(run.asked), summary=summary)


def _forgotten(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if name not in KEYS}


def _forget_previews(names: Names) -> None:
    """Those that name somebody whose messages are erased by now."""
    gone = {*names.ids}, {*names.slot_bases}
    for run in Reconciliation.objects.filter(kind="erase", asked__dry_run=True).only("asked"):
        if any(several & {*(run.asked.get(key) or ())} for several, key in zip(gone, KEYS, strict=True)):
            Reconciliation.objects.filter(pk=run.pk).update(asked=_forgotten(run.asked))


def _of_console(
    topics: Sequence[str], names: Names, left: Collection[tuple[str, bytes]], *, dry_run: bool
) -> dict[str, int]:
    """Erases, or counts, rows of the record and findings, and what other rows say of them. What Redis still has stays,
    and is not counted."""
    rows: list[tuple[Place, UUID | int]] = [*_records(topics, names)]
    idents = {*names.ids, *names.slot_bases, *(place.ident for place, _ in rows)}
    places = {(place.topic, place.ident) for place, _ in rows}
    others = _others(topics, names) - places
    for each, key in _findings(topics, idents):
        named = each.ident in names.slot_bases and (each.topic, each.ident) not in others
        if named or each.ident in names.ids or (each.topic, each.ident) in places:
            rows.append((each, key))
    over = _over({place for place, _ in rows if (_base(place.topic), id_from_text(place.ident)) not in left})
    kept = {(_base(place.topic), id_from_text(place.ident)) for place, _ in rows if place not in over} | {*left}
    kept |= {(_base(topic), id_from_text(ident)) for topic, ident in others}
    records = [key for place, key in rows if isinstance(key, UUID) and place in over]
    findings = [key for place, key in rows if isinstance(key, int) and place in over]
    mentions = _mentions(topics, names, over, kept, records)
    if not dry_run:
        record_mentions.write(mentions)
        _delete(records, findings)
    return {"records": len(records), "findings": len(findings), "record_mentions": len(mentions)}


def _mentions(
    topics: Sequence[str],
    names: Names,
    over: Collection[Place],
    kept: Collection[tuple[str, bytes]],
    records: Sequence[UUID],
) -> list[Mentioning]:
    """Rows of the record that tell of what is erased, and are over. ``kept``: what is not erased."""
    bases = {id_from_text(each) for each in names.slot_bases}
    gone = Gone(
        frozenset((_base(place.topic), id_from_text(place.ident)) for place in over),
        frozenset({id_from_text(each) for each in names.ids}),
        frozenset(bases),
        frozenset(map(_base, topics)) or None,
        frozenset(kept),
        record_mentions.told(records),
        record_mentions.topics(),
    )
    found = {Place(each.topic, each.slot, id_to_text(each.id)): each for each in record_mentions.mentioning(gone)}
    return [found[place] for place in _over(found)]


def _records(topics: Sequence[str], names: Names) -> Iterator[tuple[Place, UUID]]:
    """Rows of the record, of these topics and their groups. What has no slot basis of its own has its id for one."""
    rows = MessageRecord.objects.only("key", "topic", "slot", "ident").filter(_of_topics(topics))
    seen = set()
    own = rows.filter(basis=None)
    for found, column, texts in (
        (rows, "ident", names.ids),
        (own, "ident", names.slot_bases),
        (rows, "basis", names.slot_bases),
    ):
        for some in in_parts([id_from_text(each) for each in sorted({*texts})]):
            for row in found.filter(**{f"{column}__in": some}):
                if row.key not in seen:
                    seen.add(row.key)
                    yield Place(row.topic, row.slot, id_to_text(bytes(row.ident))), row.key


def _others(topics: Sequence[str], names: Names) -> set[tuple[str, str]]:
    """Messages of the record that only have one of the slot bases for an id: they are somebody else's."""
    rows = MessageRecord.objects.only("topic", "ident").filter(_of_topics(topics)).exclude(basis=None)
    found = set()
    for some in in_parts([id_from_text(each) for each in sorted({*names.slot_bases} - {*names.ids})]):
        found |= {(row.topic, id_to_text(bytes(row.ident))) for row in rows.filter(ident__in=some)}
    return found


def _findings(topics: Sequence[str], idents: Collection[str]) -> Iterator[tuple[Place, int]]:
    rows = Finding.objects.only("topic", "slot", "ident").filter(_of_topics(topics))
    for some in in_parts(sorted(idents)):
        for row in rows.filter(ident__in=some):
            yield Place(row.topic, row.slot or 0, row.ident), row.pk


def _of_topics(topics: Sequence[str]) -> Q:
    found = Q(topic__in=[*topics]) if topics else Q()
    for each in topics:
        found |= Q(topic__startswith=f"{each}@")
    return found


def _over(places: Collection[Place]) -> set[Place]:
    """Those that are nowhere in Redis."""
    streams = {name for name, (topic,) in record_mentions.topics().items() if topic.is_stream}
    found = set[Place]()
    for some in in_parts([*places]):
        requests = {place: _where_it_is(place, streams) for place in some}
        replies = iter(engine().client.connection.run([each for several in requests.values() for each in several]))
        for place, several in requests.items():
            said = [next(replies) for _ in several]
            if not any(each not in (None, []) for each in said):
                found.add(place)
    return found


def _where_it_is(place: Place, streams: Collection[str]) -> list[Any]:
    """What asks for it wherever it can be. What is a stream now may have been a queue under the same name."""
    keys, raw = engine().client.keyspace.slot(place.topic, place.slot), id_from_text(place.ident)
    if place.topic in streams:
        return [("XRANGE", keys.store, raw, raw)] if is_id(raw) else []
    return [("ZSCORE", getattr(keys, name), raw) for name in QUEUES]


def _delete(records: Sequence[UUID], findings: Sequence[int]) -> None:
    for keys in in_parts(records):
        with transaction.atomic():
            MessageTransition.objects.filter(message__in=keys).delete()
            MessageRecord.objects.filter(pk__in=keys).delete()
    for some in in_parts(findings):
        Finding.objects.filter(pk__in=some).update(ident="", evidence={"erased": True}, repair="none")


def _base(topic: str) -> str:
    return topic.partition("@")[0]
