"""On, off, and everything in between; and the limit."""

from __future__ import annotations

import json

import pytest

from rmq_core import RMQ, Control, PriorityMessage, Producer, errors
from rmq_core.cli.main import main
from rmq_core.ops.reaper import reap_overdue
from rmq_core.queries.sampling import SampleCache, sample
from tests.engine.journal.conftest import Journaled
from tests.engine.journals import assert_replay_is_the_truth


def test_off_writes_nothing(journaled: Journaled) -> None:
    journaled.define(journal="off")
    journaled.send("a")
    journaled.rmq.ack(journaled.rmq.take("work"))
    assert journaled.raw.exists(journaled.key()) == 0
    assert journaled.ledger().journaled == 0


def test_a_client_that_knows_an_older_definition_journals_all_the_same(journaled: Journaled) -> None:
    journaled.define(journal="off")
    with RMQ(journaled.url, journaled.rmq.keyspace.namespace) as other:
        other.topic("work")  # what it knows from now on, for a second
        journaled.redefine(journal="full")
        other.send("work", PriorityMessage("a", 20))
        (sent,) = [each for each in journaled.read().transitions if each.event == "sent"]
        assert sent.body == b""
        journaled.redefine(journal="off")
        other.send("work", PriorityMessage("b", 20))
    assert journaled.events() == [("began", ""), ("sent", "a"), ("ended", "")]


def test_switching_on_tells_what_it_does_not_know(journaled: Journaled) -> None:
    journaled.define(journal="off", slots=2)
    journaled.send("a", "b")  # both in slot 1
    journaled.redefine(journal="events")
    found = journaled.read()
    held = {each.slot: each.score for each in found.transitions}
    assert sum(filter(None, held.values())) == 2
    assert [(gap.slot, gap.reason) for gap in found.gaps] == [(slot, "off") for slot in held if held[slot]]
    journaled.redefine(journal="off")
    journaled.send("c")
    journaled.redefine(journal="events")
    again = journaled.read(found.positions)
    assert {(gap.slot, gap.reason) for gap in again.gaps} == {(0, "off"), (1, "off")}
    assert ("sent", "c") not in journaled.events()


def test_from_events_to_full_nothing_is_lost(journaled: Journaled) -> None:
    journaled.define()
    journaled.send("a", key="k")
    journaled.redefine(journal="full")
    journaled.send("b", key="k")
    journaled.rmq.nack(journaled.rmq.take("work"), error="E", message='say "no"\n' * 50)
    journaled.redefine(journal="events")
    found = journaled.read()
    assert found.gaps == []
    assert [(each.event, each.body) for each in found.transitions] == [
        ("began", None),
        ("sent", None),
        ("merged", b"\x010 0 0 b"),
        ("taken", None),
        ("retried", None),
    ]
    retried = found.transitions[-1]
    assert (retried.error, retried.failures) == ("E", 1)
    assert retried.message is not None and 100 < len(retried.message) <= 200
    assert ('say "no"\n' * 50).startswith(retried.message)
    assert_replay_is_the_truth(found.transitions, journaled.ledger(), full=False)


def test_a_switch_left_half_done_is_finished_by_whoever_keeps_the_slots(journaled: Journaled) -> None:
    topic = journaled.define(journal="off", slots=2)
    # The definition says so, the slots do not know yet: its author died in between.
    stored = json.loads(journaled.raw.hget(journaled.rmq.keyspace.topics, "work")) | {"journal": "events", "version": 2}
    definition = {"version": 2} | stored
    journaled.raw.hset(journaled.rmq.keyspace.topics, "work", json.dumps(definition, separators=(",", ":")))
    rmq = journaled.rmq
    rmq.forget("work")
    assert rmq.topic("work").journal == "events"
    journaled.send("a")
    assert journaled.read().transitions == []
    cache = SampleCache()
    rmq.run(reap_overdue(rmq.keyspace, rmq.run(sample(rmq.keyspace, cache, spread=False))))
    assert [each.event for each in journaled.read().transitions] == ["began"] * topic.slots
    rmq.run(reap_overdue(rmq.keyspace, rmq.run(sample(rmq.keyspace, cache, spread=False))))
    assert len(journaled.read().transitions) == topic.slots  # once


def test_a_full_journal_refuses_sends_until_its_readers_have_caught_up(journaled: Journaled) -> None:
    journaled.define(journal_max=5)
    journaled.send(*"abcd")
    refused = "work", PriorityMessage("e", 20)
    with pytest.raises(errors.JournalFull, match="holds 5 entries of a slot") as full:
        journaled.rmq.send(*refused)
    assert isinstance(full.value, errors.BacklogFull) and full.value.retry_after_ms > 0
    with pytest.raises(errors.JournalFull):
        journaled.rmq.send_many("work", [PriorityMessage("e", 20)])
    with pytest.raises(errors.JournalFull):
        journaled.rmq.send("work", PriorityMessage("e", 20, key="k"))
    assert journaled.ledger().stats["sent"] == 4
    journaled.rmq.ack(journaled.rmq.take("work", 10))  # taking and settling go on
    assert journaled.ledger().held == set()
    journaled.commit("record", journaled.read().positions)
    assert journaled.trim() == 7
    journaled.rmq.send(*refused)
    journaled.redefine(journal_max=1)
    with pytest.raises(errors.JournalFull):
        journaled.send("f")
    journaled.redefine(journal_max=0)
    journaled.send(*"fghijk")


def test_one_way_messages_that_meet_a_full_journal_are_reported(journaled: Journaled) -> None:
    journaled.define(journal_max=1)
    reported: list[tuple[BaseException, int]] = []
    with Producer(journaled.rmq, on_error=lambda error, some: reported.append((error, len(some)))) as producer:
        producer.post("work", PriorityMessage("a", 20))
        producer.flush()
    assert [(type(error), n) for error, n in reported] == [(errors.JournalFull, 1)]


def test_the_command_line_prints_it(journaled: Journaled, capsys: pytest.CaptureFixture[str]) -> None:
    journaled.define(slots=2)
    journaled.send("a", "b")
    Control(journaled.rmq).cancel("work", ["a"])
    base = ["--url", journaled.url, "--namespace", journaled.rmq.keyspace.namespace]
    assert main(["journal", "work", "--id", "a", *base]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[4:8] for line in lines] == [
        ["sent", "new", "→", "store"],
        ["cancelled", "store", "→", "trash"],
    ]
    assert main(["journal", "work", "--json", *base]) == 0
    values = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["event"] for each in values].count("sent") == 2
    journaled.raw.xtrim(journaled.key(1), maxlen=0)
    assert main(["journal", "work", "--slot", "1", *base]) == 0
    assert "GAP" in capsys.readouterr().out
    assert main(["journal", "work", "--slot", "7", *base]) == 2
    assert "slot=7" in capsys.readouterr().err
    assert main(["journal", "work", "--state", *base]) == 0
    assert "nobody reads it durably" in capsys.readouterr().out


def test_a_life_that_follows_at_once_begins_behind_the_deletion_of_the_one_before(journaled: Journaled) -> None:
    """An archive takes whatever is not behind the deletion for the life before; within a millisecond it would be."""
    journaled.define()
    Control(journaled.rmq).delete_topic("work", force=True)
    deleted = journaled.rmq.keyspace.deleted
    ahead_ms = int(journaled.raw.hget(deleted, "work")) + 5_000
    journaled.raw.hset(deleted, "work", ahead_ms)
    journaled.define()
    journaled.send("a")
    entries = [entry.decode() for entry, _ in journaled.raw.xrange(journaled.key())]
    assert [entry.split("-")[0] for entry in entries] == [str(ahead_ms + 1)] * 2, entries
    assert journaled.events() == [("began", ""), ("sent", "a")]
