"""Somebody adds entries of his own to a slot's journal: whoever reads it passes them over, and misses nothing."""

from __future__ import annotations

import msgpack
import pytest

from rmq_core.errors import UnknownFormat
from rmq_core.journal import trimmer
from tests.engine.journal.conftest import Journaled

GROUPS: list[object] = [
    *(5, [], [b"sent", b"zz", [b"a", 1]], [b"sent", b"ns", []], ["sent", "ns", [b"a"]], [b"sent", [1], [b"a", 5]]),
    *([b"\xff", b"ns", [b"a", 5]], [b"sent", b"ns", [7, 5]], [b"sent", b"ns", [b"a", None]]),
    *([b"sent", b"ns", [b"a", detail]] for detail in (b"five", True, [], [5], [5, 1, b"", b"", b""])),
    *([b"sent", b"ns", [b"a", [5, 1, b"", b"", b"", text]]] for text in (7, None, [])),
    *([b"sent", b"ns", [b"a", [score, score, *[b""] * 4]]] for score in (b"five", None, [5])),
    *([b"sent", b"ns", [b"a", 5], bodies] for bodies in (7, b"b", [7], [b"", b""], {2: b""}, {b"k": b""}, {1: 7})),
    *([b"sent", b"ns", [b"a", 5], False, bases, 1] for bases in (7, {}, [1], [2, b"b"], [b"1", b"b"], [1, 7])),
    *([b"sent", b"ns", [b"a", 5], False, [], b"1"], [b"sent", b"ns", [b"a", 5], False, [], 1, 1]),
]
MOMENTS: list[object] = [-1, 1.5, 1e300, float("nan"), 2**63, b"1", None]
FOREIGN: list[dict[bytes, bytes]] = [
    {b"x": b"y"},
    {b"n": b"many", b"v": msgpack.packb([1])},
    {b"n": b"9" * 5_000, b"v": msgpack.packb([1])},
    {b"v": msgpack.packb([1, [b"sent", b"ns", [b"id", 5]]])},
    *({b"n": b"7", b"v": value} for value in (b"", b"\xc1", b"\xff\xff", msgpack.packb(7), msgpack.packb([]))),
    *({b"n": b"7", b"v": msgpack.packb([1, group])} for group in GROUPS),
    *({b"n": b"7", b"v": msgpack.packb([ms, [b"sent", b"ns", [b"id", 5]]])} for ms in MOMENTS),
    *({b"n": b"7"} | other for other in ({}, {b"x": b"y"}, {b"value": b"", b"w": b"host worker"})),
    {b"n": b"0", b"v": msgpack.packb([1, [b"sent", b"ns", [b"id", 5]]])},
]


@pytest.mark.parametrize("fields", FOREIGN)
def test_readers_pass_it_over(journaled: Journaled, fields: dict[bytes, bytes]) -> None:
    topic, add = journaled.define(), lambda: journaled.raw.xadd(journaled.key(), fields)
    add()
    journaled.send("a")
    add()
    add()
    journaled.send("b")
    first = journaled.read()
    add()
    journaled.send("c")
    found = journaled.read()
    assert [each.id for each in found.transitions if each.event == "sent"] == [b"a", b"b", b"c"]
    assert found.gaps == first.gaps == []
    assert [each.n for each in found.transitions] == [1, 2, 3, 4]
    rest = journaled.read(first.positions)
    assert [each.id for each in rest.transitions] == [b"c"]
    assert rest.gaps == []
    assert journaled.rmq.run(trimmer.state(journaled.rmq.keyspace, topic)).entries == 4 + 4
    add()
    behind = journaled.read(found.positions)
    assert (behind.transitions, behind.gaps, behind.behind) == ([], [], 0)
    assert behind.positions[0].n == found.positions[0].n
    assert behind.positions[0].id > found.positions[0].id, "it is looked at once"


@pytest.mark.parametrize(
    "body", [b"\x01zz", b"\x01a b c d", b"\x03t", b"\x03e5 \x01", b"\x011 0 2 {]", b"\x09", b"7 x"]
)
def test_a_body_that_cannot_be_read_stops_nobody(journaled: Journaled, body: bytes) -> None:
    """Somebody has altered the pool of bodies, or a newer release has sent it."""
    journaled.define(journal="full")
    journaled.send("a")
    told = [1, [b"restored", b"ts", [b"b", 20], [body]]]
    journaled.raw.xadd(journaled.key(), {b"n": b"3", b"v": msgpack.packb(told)})
    (found,) = [each for each in journaled.read().transitions if each.event == "restored"]
    assert (found.body, found.basis) == (body, None)


@pytest.mark.parametrize("score", ["-inf", "inf", "-5e18", "5e18", "1e300"])
def test_scores_that_a_person_has_written_are_told(journaled: Journaled, score: str) -> None:
    """The engine takes them over, into an entry that tells of others, too: it is ours, and nobody may miss it."""
    journaled.define(max_retries=3, visibility_timeout_ms=1_000)
    keys = journaled.rmq.keyspace.slot("work", 0)
    journaled.send("a", "b", "c")
    journaled.rmq.take("work", 2)
    journaled.raw.zadd(keys.prepare, {"a": "-inf", "b": score})
    journaled.raw.zadd(keys.store, {"c": score})
    journaled.rmq.take("work", 5)
    journaled.rmq.take("work", 5)
    found = journaled.read()
    assert found.gaps == []
    assert {each.id for each in found.transitions if each.event == "expired"} >= {b"a"}
    assert all(abs(each.receipt or 0) <= 2**62 and 0 <= (each.failures or 0) < 2**31 for each in found.transitions)


def test_ids_at_the_end_of_a_millisecond_hold_no_trim_up(journaled: Journaled) -> None:
    journaled.define()
    journaled.send("a")
    ms, _ = journaled.raw.xrevrange(journaled.key(), count=1)[0][0].split(b"-")
    journaled.raw.xadd(journaled.key(), {b"x": b"y"}, id=f"{int(ms) + 1}-{2**64 - 1}")
    journaled.commit("record", journaled.read().positions)
    assert journaled.trim() == 3
    journaled.send("b")
    assert [each.id for each in journaled.read(journaled.read().positions).transitions] == []
    assert journaled.events()[-1] == ("sent", "b")


def test_one_of_a_later_format_still_stops_them(journaled: Journaled) -> None:
    journaled.define()
    journaled.raw.xadd(journaled.key(), {b"n": b"2", b"w2": b"x"})
    with pytest.raises(UnknownFormat):
        journaled.read()
