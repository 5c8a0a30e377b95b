"""Which entries of a page a filter means."""

from __future__ import annotations

from rmq_core.model.comparison import Comparison
from rmq_core.model.filters import MessageFilter
from rmq_core.model.fingerprints import UNKNOWN
from rmq_core.model.topic import Topic
from rmq_core.model.views import FailureRecord
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation
from rmq_core.queries.contents import fulfilling, of_tenant, that_holds, values, with_text
from rmq_core.queries.paging import Entry
from rmq_core.queries.trash import Trashed


def fitting(keyspace: Keyspace, topic: Topic, wanted: MessageFilter, page: list[Entry]) -> Operation[list[Entry]]:
    """Those that match, in order; what the next question costs is asked only of those that are left."""
    if not wanted.needs_look:
        return page
    if wanted.state == "trash":
        packed = yield from values(keyspace, topic, "trashed", page)
        comparison = Comparison(wanted.where) if wanted.where else None
        return [
            entry
            for entry, value in zip(page, packed, strict=True)
            if value and _trash_matches(wanted, comparison, entry, value)
        ]
    if wanted.fingerprint and wanted.state == "dead":
        causes = yield from values(keyspace, topic, "cause", page)
        expected = wanted.fingerprint.encode()
        page = [entry for entry, cause in zip(page, causes, strict=True) if (cause or UNKNOWN.encode()) == expected]
    if wanted.error or (wanted.fingerprint and wanted.state != "dead"):
        failed = yield from values(keyspace, topic, "failed", page)
        if wanted.state == "dead":
            records = yield from values(keyspace, topic, "dead_record", page)
            failed = [
                Trashed.read(record).failed if record else value for record, value in zip(records, failed, strict=True)
            ]
        page = [
            entry
            for entry, value in zip(page, failed, strict=True)
            if _failure_matches(wanted, value, wanted.state != "dead")
        ]
    if wanted.tenant is not None:
        page = yield from fulfilling(keyspace, topic, wanted.state, page, of_tenant(wanted.tenant))
    if wanted.text:
        page = yield from fulfilling(keyspace, topic, wanted.state, page, with_text(wanted.text))
    if wanted.where:
        page = yield from fulfilling(keyspace, topic, wanted.state, page, that_holds(Comparison(wanted.where)))
    return page


def _failure_matches(wanted: MessageFilter, value: bytes | None, by_fingerprint: bool) -> bool:
    failure = FailureRecord.read(value) if value else None
    if failure is None:
        return False
    if by_fingerprint and wanted.fingerprint and failure.fingerprint != wanted.fingerprint:
        return False
    return wanted.error in failure.error or wanted.error in failure.message


def _trash_matches(wanted: MessageFilter, comparison: Comparison | None, entry: Entry, packed: bytes) -> bool:
    trashed = Trashed.read(packed)
    failure = FailureRecord.read(trashed.failed) if trashed.failed else None
    if wanted.fingerprint and wanted.fingerprint != trashed.fingerprint(failure):
        return False
    if wanted.error and not (failure and (wanted.error in failure.error or wanted.error in failure.message)):
        return False
    body = trashed.decoded(entry.id)
    if wanted.tenant is not None and wanted.tenant != body.tenant:
        return False
    needle, content = wanted.text.encode(), body.content
    if needle not in entry.id and needle not in content:
        return False
    return comparison is None or comparison.holds(content)
