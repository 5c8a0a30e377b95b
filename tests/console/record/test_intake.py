"""Batches of transitions into the database: in order, once, wholly or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import DatabaseError

from console.models import MessageRecord, MessageTransition, RecordPosition
from console.record import rows
from console.record.intake import Batch, Place, PositionMoved, positions, write
from console.record.life import key_of
from tests.console.record.steps import Made, life

pytestmark = pytest.mark.django_db


def batch(steps: Sequence[Made], since: str | None = None, slot: int = 0) -> Batch:
    return Batch("orders", {} if since is None else {slot: Place(since)}, {slot: Place(steps[-1].entry_id)}, steps)


def record(ident: bytes = b"a", slot: int = 0) -> MessageRecord:
    return MessageRecord.objects.get(pk=key_of("orders", slot, ident))


def events(ident: bytes = b"a") -> list[tuple[str, str, str]]:
    found = MessageTransition.objects.filter(message=key_of("orders", 0, ident)).order_by("at_ms", "entry", "seq")
    return list(found.values_list("event", "from_state", "to_state"))


def test_a_life_is_told_in_order() -> None:
    assert write(batch(life("a"))) == 6
    assert events() == [
        ("sent", "", "delayed"),
        ("taken", "ready", "in_flight"),
        ("retried", "in_flight", "retrying"),
        ("promoted", "retrying", "ready"),
        ("taken", "ready", "in_flight"),
        ("acked", "in_flight", "done"),
    ]
    found = record()
    assert (found.state, found.sends, found.deliveries, found.failures) == ("done", 1, 2, 1)
    assert (found.first_ms, found.ended_ms, found.error) == (1_000, 1_120, "KeyError")
    assert MessageTransition.objects.filter(worker="host/1").count() == 1


def test_entries_of_one_millisecond_are_told_apart() -> None:
    """Their stream ids may be 1000-0 and 1001-0: the second was written when the clock had just moved on."""
    ids = iter(["1000-0", "1001-0", "1001-1"])

    class Late(Made):
        @property
        def entry_id(self) -> str:
            return next(ids)

    steps = [Late(event, 1_000, n=n) for n, event in enumerate(["sent", "taken", "acked"], 1)]
    write(Batch("orders", {}, {0: Place("1001-1", 3)}, steps))
    assert [name for name, _, _ in events()] == ["sent", "taken", "acked"]


def test_batches_may_be_cut_anywhere() -> None:
    for cut in range(1, 6):
        MessageRecord.objects.all().delete()
        MessageTransition.objects.all().delete()
        RecordPosition.objects.all().delete()
        steps = life("a")
        write(batch(steps[:cut]))
        write(batch(steps[cut:], since=steps[cut - 1].entry_id))
        assert [name for name, _, _ in events()] == ["sent", "taken", "retried", "promoted", "taken", "acked"]
        assert (record().state, record().deliveries) == ("done", 2)
        assert positions("orders") == {0: Place("1120-0")}


def test_what_was_read_twice_is_written_once() -> None:
    write(batch(life("a")))
    with pytest.raises(PositionMoved):
        write(batch(life("a")))
    assert record().deliveries == 2
    assert MessageTransition.objects.count() == 6


def test_of_two_keepers_one_is_refused_and_changes_nothing() -> None:
    steps = life("a")
    write(batch(steps[:2]))
    write(batch(steps[2:5], since=steps[1].entry_id))
    with pytest.raises(PositionMoved):
        write(batch(steps[2:], since=steps[1].entry_id))
    assert (record().state, record().deliveries, MessageTransition.objects.count()) == ("in_flight", 2, 5)


def test_a_batch_that_breaks_off_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(steps: Any) -> None:
        raise DatabaseError("the disk is full")

    monkeypatch.setattr(rows, "write_steps", breaks)
    with pytest.raises(DatabaseError):
        write(batch(life("a")))
    monkeypatch.undo()
    assert not MessageRecord.objects.exists() and positions("orders") == {}
    assert write(batch(life("a"))) == 6


def test_a_duplicate_that_waits_while_its_twin_is_in_flight() -> None:
    steps = [
        Made("sent", 1, due_ms=1),
        Made("taken", 2),
        Made("sent", 3, due_ms=900),
        Made("acked", 4),
        Made("cancelled", 5),
    ]
    write(batch(steps[:3]))
    assert (record().state, record().queued) == ("in_flight", "delayed")
    write(batch(steps[3:4], since="3-0"))
    assert (record().state, record().ended_ms) == ("delayed", None)
    write(batch(steps[4:], since="4-0"))
    assert (record().state, record().sends) == ("cancelled", 2)
    assert events()[3] == ("acked", "in_flight", "done")


def test_a_dead_letter_is_requeued_and_dropped() -> None:
    steps = [
        Made("sent", 1, due_ms=1),
        Made("taken", 2),
        Made("died", 3, failures=1, error="ValueError: no"),
        Made("requeued", 4, due_ms=4),
        Made("taken", 5),
        Made("died", 6, failures=1),
        Made("dropped", 7),
        Made("restored", 8, due_ms=20),
    ]
    write(batch(steps[:3]))
    assert (record().state, record().dead, record().ended_ms) == ("dead", True, None)
    write(batch(steps[3:7], since="3-0"))
    assert (record().state, record().dead, record().ended_ms) == ("dropped", False, 7)
    write(batch(steps[7:], since="7-0"))
    assert (record().state, record().ended_ms) == ("delayed", None)


def test_one_expires_and_another_send_of_its_id_is_not_accepted() -> None:
    steps = [Made("sent", 1, due_ms=1), Made("lapsed", 5), Made("duplicate", 9)]
    write(batch(steps[:2]))
    assert (record().state, record().ended_ms, events()[1]) == ("expired", 5, ("lapsed", "ready", "expired"))
    write(batch(steps[2:], since="5-0"))
    assert (record().state, record().ended_ms, record().sends) == ("expired", 5, 1)
    assert events()[2] == ("duplicate", "", "")


def test_one_that_waits_ends_as_outdated() -> None:
    write(batch([Made("sent", 1, due_ms=1), Made("outdated", 5)]))
    assert (record().state, record().ended_ms, events()[1]) == ("outdated", 5, ("outdated", "ready", "outdated"))


def test_hostile_ids_keep_apart() -> None:
    idents = [b"\x00", b"\xff\xfe", b"a\x000", b"'; DROP TABLE", "日本".encode(), b"x" * 4000]
    write(batch([Made("sent", 10 + at, ident, due_ms=5) for at, ident in enumerate(idents)]))
    assert {bytes(each.ident) for each in MessageRecord.objects.all()} == set(idents)


def test_gaps_are_counted() -> None:
    steps = life("a")
    write(Batch("orders", {}, {0: Place("1120-0")}, steps, {0: 990}))
    place = RecordPosition.objects.get()
    assert (place.gaps, place.gap_ms) == (1, 990)


def test_what_was_lost_in_flight_and_put_back_waits() -> None:
    back = Made("restored", 1_500, b"a", due_ms=1_010, route=("gone", "store"))
    write(batch([*life("a")[:2], back]))
    assert events()[-1] == ("restored", "in_flight", "ready")
    found = record()
    assert (found.state, found.in_flight, found.queued) == ("ready", False, "ready")
