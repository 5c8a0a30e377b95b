"""Pages, put one after another, are the whole list in order: for any data, any page size, with removals in between."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmq_core import RMQ, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.holds import HELD_FROM
from rmq_core.protocol.keys import Keyspace
from rmq_core.queries.paging import Entry, entries

NOW_MS = 1_700_000_000_000
SLOTS = 8
QUEUE_OF = {"delayed": "store", "ready": "store", "retrying": "retry", "in_flight": "prepare", "dead": "dead"}

near = st.integers(NOW_MS - 3, NOW_MS + 3)
scores = near | st.integers(1, 20) | near.map(lambda ms: ms * 1000 + 1) | st.integers(2**53 - 3, 2**53)
raw_ids = st.binary(min_size=1, max_size=3) | st.sampled_from([b"a", b"aa", b"b", b"\xff", b"\xff\xff", b"\x00"])
data = st.dictionaries(st.tuples(st.integers(0, SLOTS - 1), raw_ids), scores, max_size=60)


@pytest.fixture(scope="module")
def rmq(redis_server: EmbeddedRedis) -> Iterator[RMQ]:
    with RMQ(redis_server.url, "paging") as client:
        yield client


def member(state: str, score: int) -> bool:
    return {"delayed": score > NOW_MS, "ready": score <= NOW_MS, "retrying": score < HELD_FROM}.get(state, True)


@given(
    stored=data,
    state=st.sampled_from(sorted(QUEUE_OF)),
    limit=st.integers(1, 12),
    descending=st.booleans(),
    only=st.none() | st.integers(0, SLOTS - 1),
    removals=st.lists(st.integers(0, 59), max_size=6),
)
def test_pages_are_the_whole_list(
    rmq: RMQ,
    redis_server: EmbeddedRedis,
    stored: dict[tuple[int, bytes], int],
    state: str,
    limit: int,
    descending: bool,
    only: int | None,
    removals: list[int],
) -> None:
    topic = Topic("t", TopicKind.FIXED_TIME, slots=SLOTS)
    keyspace = Keyspace("paging")

    def key(slot: int) -> str:
        return getattr(keyspace.slot("t", slot), QUEUE_OF[state])

    whole = [Entry(score, slot, raw) for (slot, raw), score in stored.items() if only in (None, slot)]
    whole = sorted((each for each in whole if member(state, each.score)), reverse=descending)
    with redis_server.client() as plain:
        for (slot, raw), score in stored.items():
            plain.zadd(key(slot), {raw: score})
        try:
            shown: list[Entry] = []
            removed: set[Entry] = set()
            to_remove = list(removals)
            cursor: str | None = None
            while True:
                slots = None if only is None else range(only, only + 1)
                page, cursor = rmq.run(
                    entries(
                        keyspace, topic, state, NOW_MS, slots=slots, descending=descending, limit=limit, cursor=cursor
                    )
                )
                shown += page
                assert len(page) <= limit
                if cursor is None:
                    break
                assert len(page) == limit
                if to_remove and whole:
                    gone = whole[to_remove.pop() % len(whole)]
                    plain.zrem(key(gone.slot), gone.id)
                    removed.add(gone)
        finally:
            plain.delete(*(key(slot) for slot in range(SLOTS)))
    # Whatever was removed may have been shown before it was, or not; all others are shown, once, in order.
    assert [each for each in shown if each not in removed] == [each for each in whole if each not in removed]
    assert len(set(shown)) == len(shown)
    assert shown == sorted(shown, reverse=descending)
