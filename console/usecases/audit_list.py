"""Reading the audit: by filter, a page at a time, exported in full, and by the message an action was about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext

from console.access import Action, User, rows_in_scope
from console.errors import BadRequest
from console.models import AuditEntry
from console.serializers.text import csv_lines, json_lines
from rmq_core.figures import digits
from rmq_core.model.text import NotText, check_text

COUNTED_MOST = 10_000
EXPORT_AT_ONCE = 1_000
LOOKED_AT = 1_000
"""How many of a topic's newest entries are looked through for one message."""
TEXT_MAX = 150
TIME_MAX_MS = 253_402_300_799_000
COLUMNS = (
    "id", "at", "who", "action", "topic", "result", "asked", "done", "reason", "via", "address", "query", "detail",
)  # fmt: skip


@dataclass(frozen=True)
class AuditFilter:
    """What to show. Texts are exact but for `who` and `text` (in the reason), which may be a part; times in epoch ms,
    `until_ms` excluded; empty: any."""

    who: str = ""
    action: str = ""
    topic: str = ""
    result: str = ""
    via: str = ""
    text: str = ""
    since_ms: int | None = None
    until_ms: int | None = None

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> AuditFilter:
        """Out of a query. Raises `BadRequest`, naming what is wrong."""
        found: dict[str, Any] = {}
        for each in fields(cls):
            value = values.get(each.name)
            if value in (None, ""):
                continue
            found[each.name] = _time(each.name, value) if each.name.endswith("_ms") else _text(each.name, value)
        if found.get("result", "done") not in AuditEntry.Result.values:
            raise BadRequest(gettext("There is no result of that name."))
        return cls(**found)

    def entries(self, user: User) -> QuerySet[AuditEntry]:
        """Newest first; of topics that are somebody's."""
        conditions: dict[str, Any] = {
            name: getattr(self, name) for name in ("action", "topic", "result", "via") if getattr(self, name)
        }
        if self.who:
            conditions["username__icontains"] = self.who
        if self.text:
            conditions["reason__icontains"] = self.text
        if self.since_ms is not None:
            conditions["at__gte"] = _moment(self.since_ms)
        if self.until_ms is not None:
            conditions["at__lt"] = _moment(self.until_ms)
        return AuditEntry.objects.filter(rows_in_scope(user), **conditions).order_by("-id")


@dataclass(frozen=True)
class AuditPage:
    """Some entries, and whether there are `more`. `count` is not `exact` above `COUNTED_MOST`."""

    entries: list[AuditEntry]
    more: bool
    count: int
    exact: bool


def page(wanted: AuditFilter, before: int | None, limit: int, user: User) -> AuditPage:
    """One page; `before`: the id of the last entry of the page before."""
    rows = wanted.entries(user)
    counted = rows[: COUNTED_MOST + 1].count()
    found = list((rows if before is None else rows.filter(id__lt=before))[: limit + 1])
    return AuditPage(found[:limit], len(found) > limit, min(counted, COUNTED_MOST), counted <= COUNTED_MOST)


def actions_on(topic: str, slot: int | None, ident: str) -> tuple[list[AuditEntry], bool]:
    """What people did to one message, newest first, and whether all of the topic's entries were looked at."""
    rows = AuditEntry.objects.filter(topic=topic, action__in=_ON_MESSAGES).order_by("-id")[: LOOKED_AT + 1]
    looked = list(rows)
    held = {ref for entry in looked if _holds(entry, slot, ident) for ref in _refs(entry)}
    found = [entry for entry in looked[:LOOKED_AT] if _names(entry, slot, ident) or _moves(entry, held)]
    return found, len(looked) <= LOOKED_AT


def status_of(entry: AuditEntry, slot: int | None, ident: str) -> str:
    """What came of an action for one of its messages: done, why not, or that of the whole."""
    not_done = entry.detail.get("not_done") if isinstance(entry.detail, dict) else None
    for each in not_done or []:
        match each:
            case [int(place), str(name), *rest] if name == ident and slot in (None, place):
                return "failed" if entry.action == Action.SEND.value else str(rest[0] if rest else "failed")
    return "done" if entry.result in (AuditEntry.Result.DONE, AuditEntry.Result.PARTLY) else entry.result


def export(wanted: AuditFilter, form: str, user: User) -> Iterator[str]:
    """Every entry as CSV or JSON Lines, some at a time; each step is a query of its own, so it may take its time."""
    if form == "csv":
        yield csv_lines([COLUMNS])
    last: int | None = None
    while True:
        rows = wanted.entries(user)
        some = list((rows if last is None else rows.filter(id__lt=last))[:EXPORT_AT_ONCE])
        if not some:
            return
        lines = [_line(entry) for entry in some]
        yield (
            csv_lines([_cell(each) for each in line.values()] for line in lines) if form == "csv" else json_lines(lines)
        )
        last = some[-1].pk


_ON_MESSAGES = [
    action.value
    for action in (
        Action.CANCEL,
        Action.RUN_NOW,
        Action.RESCHEDULE,
        Action.REQUEUE,
        Action.DROP,
        Action.RESTORE,
        Action.SEND,
        Action.HOLD,
        Action.LIFT,
    )
]


def _names(entry: AuditEntry, slot: int | None, ident: str) -> bool:
    messages = entry.query.get("messages") if isinstance(entry.query, dict) else None
    if not isinstance(messages, list):
        return False
    if slot is not None:
        return [slot, ident] in messages
    return any(isinstance(each, list) and each[1:] == [ident] for each in messages)


def _holds(entry: AuditEntry, slot: int | None, ident: str) -> bool:
    """Whether it held this id, or the slot basis that a message has by itself, which is the same."""
    if entry.action != Action.HOLD.value or not isinstance(entry.query, dict):
        return False
    if ident not in (entry.query.get("id"), entry.query.get("slot_basis")):
        return False
    return slot is None or any(ref.partition("-")[0] == str(slot) for ref in _refs(entry))


def _refs(entry: AuditEntry) -> list[str]:
    """Of an entry about holds: their names."""
    refs = entry.detail.get("holds") if isinstance(entry.detail, dict) else None
    return [str(each) for each in refs] if isinstance(refs, list) else []


def _moves(entry: AuditEntry, held: set[str]) -> bool:
    """Whether it is one of these holds, or lifted one."""
    if entry.action == Action.HOLD.value:
        return bool(held & set(_refs(entry)))
    return entry.action == Action.LIFT.value and isinstance(entry.query, dict) and entry.query.get("hold") in held


def _line(entry: AuditEntry) -> dict[str, Any]:
    values = (
        entry.pk, entry.at.isoformat(), entry.username, entry.action, entry.topic, entry.result, entry.asked,
        entry.done, entry.reason, entry.via, entry.address, entry.query, entry.detail,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def _cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _text(name: str, value: Any) -> str:
    try:
        return check_text(value, TEXT_MAX)
    except NotText:
        raise BadRequest(
            gettext("%(name)s must be text of at most %(most)s characters.") % {"name": name, "most": digits(TEXT_MAX)}
        ) from None


def _time(name: str, value: Any) -> int:
    text = str(value)
    if isinstance(value, bool) or not text.isdecimal() or len(text) > 15 or int(text) > TIME_MAX_MS:
        raise BadRequest(
            gettext("%(name)s must be a whole number from %(low)s to %(high)s.")
            % {"name": name, "low": 0, "high": digits(TIME_MAX_MS)}
        )
    return int(text)
