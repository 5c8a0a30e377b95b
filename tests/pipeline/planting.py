"""One of each fault, planted in the queues and in the archive behind the engine's back."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

from rmq_core import RMQ, FixedTimeMessage, Topic, TopicKind
from rmq_core.model.topic import Journal
from rmq_core.protocol.keys import SlotKeys, slot_for
from tests.pipeline import parquet

FAR_MS = 3_600_000
SLOTS = 4
Found = tuple[str, str, int | None, bytes | None]
"""Kind, topic, slot, id."""

LEDGER = "topic,id,expected,content_sha256\n"
LEDGER += "booked,sent,sent,\nbooked,undone,done,\nbooked,done,done,\nbooked,nowhere,sent,\n"
LEDGER += "".join(f"booked,{name},known,\n" for name in ("twin1", "twin2", "twin3", "twin4", "twin5", "late"))
LEDGER += "".join(
    f"booked,{name},sent,{hashlib.sha256(content).hexdigest()}\n"
    for name, content in (("as-booked", b"of as-booked"), ("other", b"of somebody else"))
)


class Planted:
    """A queue in which much has happened, and all is well, until `in_the_queues` and `in_the_archive`."""

    def __init__(self, client: RMQ, raw: Any, archive: Path) -> None:
        self.client, self.raw, self.archive = client, raw, archive
        self.due = int(time.time() * 1000) + FAR_MS
        self.waiting: dict[int, list[bytes]] = {slot: [] for slot in range(SLOTS)}
        self.acked: dict[int, list[bytes]] = {slot: [] for slot in range(SLOTS)}
        self.in_flight: dict[int, list[bytes]] = {slot: [] for slot in range(SLOTS)}

    def live(self) -> None:
        """Messages that wait, are in flight, dead and done, in all slots."""
        client = self.client
        for name in ("work", "holed", "trimmed", "booked"):
            options: dict[str, Any] = {"slots": SLOTS if name == "work" else 1, "visibility_timeout_ms": 600_000}
            client.define(Topic(name, TopicKind.FIXED_TIME, journal=Journal.FULL, **options))
        self._send("work", *(f"k{i}" for i in range(80)))
        client.send_many("work", [FixedTimeMessage(f"now{i}", due_ms=1_000) for i in range(80)], allow_past=True)
        for slot in range(SLOTS):
            self.waiting[slot] = [b"k%d" % i for i in range(80) if slot_for(b"k%d" % i, SLOTS) == slot]
        for delivery in (taken := client.take("work", 80)):
            kind = self.acked if len(self.acked[delivery.slot]) < 5 else self.in_flight
            kind[delivery.slot].append(delivery.raw_id)
        client.ack([each for each in taken if each.raw_id in self.acked[each.slot]])
        client.reject([each for each in taken if each.raw_id in self.in_flight[each.slot][5:]])
        for name in ("holed", "trimmed"):
            for i in range(4):
                self._send(name, f"m{i}")
        for n in (1, 2, 3):
            self._send("booked", f"twin{n}", due=1_000)
        client.reject(client.take("booked", 3), message="no use")
        self._send("booked", "twin1", "twin2", "twin3", due=self.due + 1)
        for name in ("done", "undone", "sent", "outsider", "as-booked", "other"):
            self._send("booked", name, due=1_000 if name == "done" else self.due)
        client.ack(client.take("booked", 1))
        for n in (4, 5):
            self._send("booked", f"twin{n}", due=1_000)
            assert client.take("booked", 1)[0].id == f"twin{n}"
            client.send("booked", FixedTimeMessage("of its own", due_ms=self.due, key=f"twin{n}"))
        self._send("booked", "late", due=2_000)
        self.raw.xtrim(
            self.keys("trimmed", 0).journal, maxlen=2, approximate=False
        )  # by hand, before anybody has read it

    def _send(self, topic: str, *names: str, due: int = 0) -> None:
        self.client.send_many(
            topic, [FixedTimeMessage(f"of {each}", due_ms=due or self.due, key=each) for each in names], allow_past=True
        )

    def keys(self, topic: str, slot: int) -> SlotKeys:
        return self.client.keyspace.slot(topic, slot)

    def lose(self, topic: str, slot: int, id: bytes) -> None:
        """Out of the store, with its content."""
        assert self.raw.zrem(self.keys(topic, slot).store, id)
        self.raw.hdel(self.keys(topic, slot).body, id)

    def in_the_queues(self) -> set[Found]:
        """Changes Redis; returns what must be found. What comes to a slot weighs up what is lost there, for its ledger
        are to balance but for one."""
        raw, expected = self.raw, set[Found]()
        self.lose("work", 0, lost := self.waiting[0].pop())
        raw.zadd(self.keys("work", 0).dead, {(back := self.acked[0].pop()): self.due})
        expected |= {("lost", "work", 0, lost), ("unexpected", "work", 0, back)}
        for home, other in ((1, 2), (2, 1)):
            self.lose("work", home, stray := self.waiting[home].pop())
            raw.zadd(self.keys("work", other).store, {stray: self.due})
            expected.add(("wrong_slot", "work", other, stray))
        taken_ms = int(time.time() * 1000) - FAR_MS
        self.values(expected)
        self.beside_the_dead(expected)
        raw.zadd(self.keys("work", 0).prepare, {(stuck := self.in_flight[0][0]): taken_ms * 1000}, xx=True)
        raw.hset(self.keys("work", 2).body, "ghost", "0 {} x")
        raw.hset(self.keys("work", 3).failed, "ghost", "{}")
        raw.hincrby(self.keys("work", 3).stats, "sent", 5)
        expected |= {("stuck_in_prepare", "work", 0, stuck), ("overdue", "booked", 0, b"late")}
        expected |= {("orphan_body", "work", 2, b"ghost"), ("orphan_failure", "work", 3, b"ghost")}
        expected.add(("slot_ledger", "work", 3, None))
        for topic in ("holed", "trimmed"):  # of which nothing may be claimed
            self.lose(topic, 0, b"m1")
            raw.zadd(self.keys(topic, 0).store, {"unheard-of": self.due})
        # Done, and dead again behind everybody's back: it is not to live because the ledger expects it done.
        raw.zadd(self.keys("booked", 0).dead, {"done": self.due})
        expected |= {("unexpected", "booked", 0, b"done"), ("not_done", "booked", 0, b"done")}
        # The business's ledger says what it wants of these.
        expected |= {("missing_in_queue", "booked", None, b"nowhere"), ("not_done", "booked", 0, b"undone")}
        expected |= {("unknown_to_business", "booked", 0, b"outsider"), ("not_as_expected", "booked", 0, b"other")}
        return expected

    def values(self, expected: set[Found]) -> None:
        """Another due time, retries, content, and none at all; in flight and dead, too."""
        raw, keys = self.raw, self.keys("work", 3)
        moved, emptied, other = (self.waiting[3].pop() for _ in range(3))
        raw.zadd(keys.store, {moved: self.due + 30 * 86_400_000}, xx=True)
        raw.hdel(keys.body, emptied)
        raw.hset(keys.body, other, b"0 {} another one")
        expected |= {
            ("altered", "work", 3, moved),
            ("missing_content", "work", 3, emptied),
            ("altered", "work", 3, other),
        }
        failed = self.in_flight[3][0]
        raw.zincrby(keys.prepare, 2, failed)
        raw.zincrby(keys.dead, 5_000, self.in_flight[3][5])
        expected |= {("altered", "work", 3, failed), ("altered", "work", 3, self.in_flight[3][5])}

    def beside_the_dead(self, expected: set[Found]) -> None:
        """Of two ids with a dead letter and a copy that waits, one lost the former, the other the latter; and one has
        both, and a third one that nobody knows of."""
        raw, keys = self.raw, self.keys("booked", 0)
        raw.zrem(keys.dead, b"twin1")
        raw.hdel(keys.dead_record, b"twin1")
        raw.zrem(keys.store, b"twin2")
        raw.hdel(keys.body, b"twin2")
        raw.zadd(keys.retry, {b"twin3": self.due * 1000 + 1})
        self.beside_the_waiting(expected)
        expected |= {
            ("lost", "booked", 0, b"twin1"),
            ("lost", "booked", 0, b"twin2"),
            ("unexpected", "booked", 0, b"twin3"),
        }

    def beside_the_waiting(self, expected: set[Found]) -> None:
        """Of what is in flight while another of its id waits, the content changed, and got lost."""
        raw, keys = self.raw, self.keys("booked", 0)
        assert raw.hset(keys.replaced, b"twin4", b"0 {} another one") == 0
        assert raw.hdel(keys.replaced, b"twin5") == 1
        expected |= {("altered", "booked", 0, b"twin4"), ("altered", "booked", 0, b"twin5")}

    def in_the_archive(self) -> set[Found]:
        """Changes the Parquet files; returns what must be found."""
        again, twice, never = self.acked[1].pop(), self.acked[2].pop(), self.waiting[3].pop()
        parquet.add(self.archive, "work", 1, ("taken", "sp", again))
        parquet.add(self.archive, "work", 2, ("acked", "p-", twice))
        parquet.add(self.archive, "work", 3, ("requeued", "ds", never))
        parquet.remove_entry(self.archive, "holed", 0, n=3)
        return {
            ("delivered_after_success", "work", 1, again),
            ("ended_twice", "work", 2, twice),
            ("impossible_transition", "work", 3, never),
            ("journal_gap", "holed", 0, None),
            ("journal_gap", "trimmed", 0, None),
        }
