"""What the command palette finds beside pages and topics: messages by their id, workers, operations, findings.

It answers while somebody types, so nothing here looks through a queue: an id is looked for in the one slot it leads to,
of every topic at once, and in the record; of operations and findings only the newest are looked through.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext
from unfold.dataclasses import SearchResult

from console import navigation
from console.access import Permission, User, allowed, in_scope
from console.engine import engine
from console.models import Finding, MessageRecord, Operation, Reconciliation
from console.models.audit import LABELS
from console.query_parts import in_parts
from console.record.life import key_of
from rmq_core.errors import RMQError
from rmq_core.model.ids import id_from_text
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import slot_for
from rmq_core.queries import by_id

MOST = 10
"""Of each kind."""
OPERATIONS_MOST = 500
RUNS_MOST = 5
TYPED_LEAST = 3
"""Of an id, a name of somebody, a number: less than that would find anything."""


def search(request: HttpRequest, term: str) -> list[SearchResult]:
    """Everything for the palette. `term` is in small letters; ids are not."""
    found = navigation.search(request, term)
    typed = request.GET.get("s", term).strip()
    if len(typed) < TYPED_LEAST or "\0" in typed or not allowed(request.user, Permission.VIEW):
        return found
    words = typed.lower().split()
    user = request.user
    records = [_messages(user, typed), _workers(user, words), _operations(user, words), _findings(user, typed)]
    own = [each for some in records for each in islice(some, MOST)]
    if not own and not found:
        return [_nothing()]
    return [*own, *found] if own and own[0].icon == "mail" else [*found, *own]


def _nothing() -> SearchResult:
    """What an empty answer may mean: the palette shows nothing by itself."""
    why = gettext("a message that is over is known where its topic's journal was on")
    return SearchResult(gettext("Nothing is found"), why, reverse("console:overview"), "search_off")


def _messages(user: User, typed: str) -> Iterator[SearchResult]:
    """Where a message with this id is, or was."""
    try:
        raw = id_from_text(typed)
        client = engine().client
        topics = [each for each in engine().inspector.queues() if in_scope(user, each.name)]
        known = set(client.run(by_id.likely(client.keyspace, topics, raw)))
    except RMQError:
        return
    known.update(_recorded(topics, raw))
    for topic in sorted(known):
        address = reverse("console:message", args=[topic])
        yield SearchResult(typed, gettext("Message of %(topic)s") % {"topic": topic}, _at(address, id=typed), "mail")


def _recorded(topics: Iterable[Topic], raw: bytes) -> Iterator[str]:
    keys = [key_of(each.name, slot_for(raw, each.slots), raw) for each in topics]
    for some in in_parts(keys):
        yield from MessageRecord.objects.filter(pk__in=some).values_list("topic", flat=True)


def _workers(user: User, words: list[str]) -> Iterator[SearchResult]:
    try:
        workers = engine().inspector.workers()
    except RMQError:
        return
    for worker in sorted(workers, key=lambda each: each.name):
        mine = in_scope(user, "") or any(in_scope(user, topic) for topic in worker.topics)
        if mine and _has(words, worker.name, worker.host):
            address = _at(reverse("console:workers"), worker=worker.name)
            yield SearchResult(worker.name, gettext("Worker on %(host)s") % {"host": worker.host}, address, "memory")


def _operations(user: User, words: list[str]) -> Iterator[SearchResult]:
    """By number, or by what was done, where, why, by whom: of the newest."""
    newest = Operation.objects.only("action", "topic", "reason", "username")
    beginning = _numbers(words)
    rows = list(newest.filter(beginning)[:MOST]) if beginning else []
    for row in rows or newest[:OPERATIONS_MOST]:
        action = str(LABELS.get(row.action, row.action))
        if in_scope(user, row.topic) and (rows or _has(words, action, row.topic, row.reason, row.username)):
            address = reverse("console:operation", args=[row.pk])
            about = gettext("Operation %(number)s") % {"number": str(row.pk)[:8]}
            if row.reason:
                about = f"{about} · {row.reason}"
            yield SearchResult(f"{action} · {row.topic}", about, address, "playlist_play")


def _findings(user: User, typed: str) -> Iterator[SearchResult]:
    """Of the newest runs that somebody may see, by id (of whoever may read those), topic or kind."""
    done = Reconciliation.objects.filter(kind="reconcile", state="done", findings__gt=0).only("topics")
    runs = [run.pk for run in done[: 10 * RUNS_MOST] if all(in_scope(user, each) for each in run.topics or ("",))]
    payload = allowed(user, Permission.READ_PAYLOAD)
    words = Q(topic__icontains=typed) | Q(kind__icontains=typed.replace(" ", "_"))
    if payload:
        words |= Q(ident__icontains=typed)
    told = set()
    # The newest run first, and of it the oldest finding.
    for run in runs[:RUNS_MOST]:
        for each in Finding.objects.filter(words, run=run).order_by("pk")[:MOST]:
            ident = each.ident if payload else ""
            if (each.kind, each.topic, ident) in told:
                continue
            told.add((each.kind, each.topic, ident))
            address = _at(reverse("console:run", args=[run]), kind=each.kind, topic=each.topic)
            yield SearchResult(
                f"{ident or each.topic} · {each.kind}",
                gettext("Finding of a reconciliation, in %(topic)s") % {"topic": each.topic},
                address,
                "fact_check",
            )


def _numbers(words: list[str]) -> Q | None:
    """Operations whose number begins like this, where it can be the beginning of one."""
    number = words[0].replace("-", "") if len(words) == 1 else ""
    if not 8 <= len(number) <= 32 or set(number) - set("0123456789abcdef"):
        return None
    return Q(pk__gte=uuid.UUID(number.ljust(32, "0")), pk__lte=uuid.UUID(number.ljust(32, "f")))


def _has(words: list[str], *texts: str) -> bool:
    text = " ".join(texts).lower()
    return all(word in text for word in words)


def _at(address: str, **query: Any) -> str:
    return f"{address}?{urlencode(query)}"
