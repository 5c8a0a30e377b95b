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
]
FOREIGN: list[dict[bytes, bytes]] = [
    {b"x": b"y"},
    {b"n": b"many", b"v": msgpack.packb([1])},
    {b"n": b"9" * 5_000, b"v": msgpack.packb([1])},
    {b"v": msgpack.packb([1, [b"sent", b"ns", [b"id", 5]]])},
    *({b"n": b"7", b"v": value} for value in (b"", b"\xc1", b"\xff\xff", msgpack.packb(7), msgpack.packb([]))),
    *({b"n": b"7", b"v": msgpack.packb([1, group])} for group in GROUPS),
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


def test_one_of_a_later_format_still_stops_them(journaled: Journaled) -> None:
    journaled.define()
    journaled.raw.xadd(journaled.key(), {b"n": b"2", b"w2": b"x"})
    with pytest.raises(UnknownFormat):
        journaled.read()
