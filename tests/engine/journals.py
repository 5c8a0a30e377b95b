"""What a journal tells, against what Redis really holds."""

from __future__ import annotations

from collections.abc import Iterable

from rmq_core.journal import Transition
from rmq_core.journal.replay import QUEUES, Replayed, replay
from rmq_core.model.entry import LAST_ID, EntryId
from rmq_core.model.entry_form import from_body
from rmq_core.model.stats import COUNTERS
from rmq_core.queries.trash import Trashed
from tests.engine.ledgers import SlotLedger


def assert_replay_is_the_truth(
    transitions: Iterable[Transition], ledger: SlotLedger, full: bool, start: Replayed | None = None
) -> Replayed:
    """Replaying a slot's journal from its beginning gives its queues, its counters and (``full``) its contents.

    ``start``: what replaying the earlier part of it gave.
    """
    reported = start or Replayed()
    for change in transitions:
        # Where a message comes from, the journal has put it before.
        assert change.origin not in QUEUES or change.id in getattr(reported, change.origin), change
        assert change.event != "sent" or not (change.id in reported.store or change.id in reported.retry), change
        reported = replay([change], reported)
    assert {name: getattr(reported, name) for name in ledger.queues} == ledger.queues
    assert reported.trash == ledger.trash
    counted = {name: n for name, n in ledger.stats.items() if name in COUNTERS and n}
    assert {name: n for name, n in reported.counts.items() if n} == counted
    if full:
        assert _filled(reported.bodies) == ledger.pools["body"]
        assert _filled(reported.replaced) == _filled(ledger.pools["replaced"])
        records = {raw: Trashed.read(packed).body or b"" for raw, packed in ledger.pools["dead_record"].items()}
        assert reported.dead_bodies == records
        held = ledger.queues["store"].keys() | ledger.queues["retry"].keys() | ledger.queues["prepare"].keys()
        assert reported.bodies.keys() == held
        assert reported.trashed == {
            raw: Trashed.read(packed).body or b"" for raw, packed in ledger.pools["trashed"].items()
        }
    return reported


def _filled(bodies: dict[bytes, bytes]) -> dict[bytes, bytes]:
    return {raw: body for raw, body in bodies.items() if body}


def assert_stream_is_what_its_journal_says(
    told: list[Transition], kept: list[tuple[bytes, dict[bytes, bytes]]], full: bool
) -> None:
    """What was sent, and neither trimmed nor deleted since, is what the stream holds."""
    there: dict[EntryId, bytes | None] = {}
    for each in told:
        if each.event == "sent":
            there[EntryId.parse(each.id)] = each.body
        elif each.event == "deleted":
            del there[EntryId.parse(each.id)]
        elif each.event == "trimmed":
            first = EntryId.parse(each.id) if each.id else LAST_ID
            gone = [entry for entry in there if entry < first]
            assert len(gone) == each.score
            for entry in gone:
                del there[entry]
    assert [str(entry).encode() for entry in there] == [ident for ident, _ in kept]
    if full:
        bodies = [from_body(body or b"") for body in there.values()]
        assert [dict(zip(pairs[::2], pairs[1::2], strict=True)) for pairs in bodies] == [pairs for _, pairs in kept]
