"""A filter selects exactly what a plain predicate over all messages selects, whatever moves meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmq_core import RMQ, Inspector, MessageFilter, PriorityMessage, Topic, TopicKind, errors, id_to_text
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.filters import FILTER_STATES, MS_MAX, TEXT_MAX
from rmq_core.model.fingerprints import UNKNOWN, fingerprint
from rmq_core.model.holds import HELD_FROM
from rmq_core.model.message import encode
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.takes import failure_fragment

SLOTS = 4
NAMESPACE = "filtering"
AGO_MS = 100_000
STATES = sorted(FILTER_STATES)

texts = st.sampled_from(["a", "b", "ab", "ä", "7", "%", "a b", '"'])
failures = st.none() | st.tuples(st.sampled_from(["IOError", "Other"]), texts)


@dataclass(frozen=True)
class Letter:
    """A message as the test puts it, in whatever state."""

    slot: int
    number: int
    word: str
    offset_ms: int
    failure: tuple[str, str] | None
    pooled: bool
    counted: bool
    tenant: str

    @property
    def content(self) -> bytes:
        return f"{self.word}{self.number}".encode()

    @property
    def id(self) -> bytes:
        return f"key-{self.number}".encode() if self.pooled else self.content

    @property
    def fingerprint(self) -> str | None:
        return fingerprint(*self.failure) if self.failure else None


letters = st.lists(
    st.builds(
        Letter,
        slot=st.integers(0, SLOTS - 1),
        number=st.just(0),
        word=texts,
        offset_ms=st.integers(0, 6),
        failure=failures,
        pooled=st.booleans(),
        counted=st.booleans(),
        tenant=st.sampled_from(["", "acme", "a b"]),
    ),
    min_size=4,
    max_size=24,
).map(lambda some: [Letter(**(vars(each) | {"number": number})) for number, each in enumerate(some)])
bounds = st.none() | st.integers(-1, 7)


def mostly(usual: Any, otherwise: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A filter that asks for everything at once selects nothing: most of it is left out most of the time."""
    return st.integers(0, 3).flatmap(lambda chance: otherwise if chance == 3 else st.just(usual))


@pytest.fixture(scope="module")
def inspector(redis_server: EmbeddedRedis) -> Iterator[Inspector]:
    with RMQ(redis_server.url, NAMESPACE) as client:
        client.define(Topic("t", TopicKind.FIXED_TIME, slots=SLOTS))
        yield Inspector(client)
        client.connection.run([("DEL", client.keyspace.topics)])


class Stage:
    """Letters in one state of the topic, put there by hand."""

    def __init__(self, plain: Any, state: str, base_ms: int) -> None:
        self.plain = plain
        self.state = state
        self.base_ms = base_ms

    def key(self, name: str, slot: int) -> str:
        return getattr(Keyspace(NAMESPACE).slot("t", slot), name)

    def record(self, letter: Letter) -> str:
        assert letter.failure
        return '{"failures":1,"first_ms":1,"last_ms":2,' + failure_fragment(*letter.failure, "w")

    def body(self, letter: Letter) -> bytes | None:
        return encode(PriorityMessage(letter.content, 20, key=letter.id, headers={"x": "7"}, tenant=letter.tenant)).body

    def put(self, letter: Letter) -> None:
        when = self.base_ms + letter.offset_ms
        queue = {"retrying": "retry", "held": "retry", "dead": "dead", "trash": "trash"}.get(self.state, "store")
        score = {"retrying": when * 1000 + 1, "held": HELD_FROM + letter.offset_ms}.get(self.state, when)
        self.plain.zadd(self.key(queue, letter.slot), {letter.id: score})
        body = self.body(letter) if letter.pooled else None
        record = self.record(letter) if letter.failure else None
        if self.state == "trash":
            cause = self.cluster(letter) if letter.failure and letter.counted else "-"
            sizes = [len(part) if part else "-" for part in (record, body)]
            head = f"d {when} - {cause} {sizes[0]} {sizes[1]} ".encode()
            packed = head + (record or "").encode() + (body or b"")
            self.plain.hset(self.key("trashed", letter.slot), letter.id, packed)
            return
        if body:
            self.plain.hset(self.key("body", letter.slot), letter.id, body)
        if record:
            self.plain.hset(self.key("failed", letter.slot), letter.id, record)
        if self.state == "dead" and letter.failure and letter.counted:
            cluster, key = self.cluster(letter), self.key("clusters", letter.slot)
            self.plain.hset(self.key("cause", letter.slot), letter.id, cluster)
            known = self.plain.hget(key, cluster)
            self.plain.hset(key, cluster, f"{int(known.split()[0]) + 1 if known else 1} 1 2 {{}}")

    @staticmethod
    def cluster(letter: Letter) -> str:
        assert letter.fingerprint
        return letter.fingerprint

    def take_away(self, letter: Letter) -> None:
        for queue in ("store", "retry", "dead", "trash"):
            self.plain.zrem(self.key(queue, letter.slot), letter.id)

    def clear(self) -> None:
        names = ("store", "retry", "dead", "trash", "body", "failed", "cause", "clusters", "trashed")
        self.plain.delete(*(self.key(name, slot) for slot in range(SLOTS) for name in names))

    def fits(self, wanted: MessageFilter, letter: Letter) -> bool:
        """The filter in plain Python."""
        when = self.base_ms + letter.offset_ms
        found = letter.fingerprint
        if self.state in {"dead", "trash"}:
            found = found if letter.counted and found else UNKNOWN
        error, message = letter.failure or (None, None)
        return (
            (wanted.slot is None or wanted.slot == letter.slot)
            and (wanted.since_ms is None or wanted.since_ms <= when)
            and (wanted.until_ms is None or when <= wanted.until_ms)
            and (wanted.text.encode() in letter.id or wanted.text.encode() in letter.content)
            and (not wanted.error or (error is not None and (wanted.error in error or wanted.error in message)))
            and (not wanted.fingerprint or wanted.fingerprint == found)
            and (wanted.tenant is None or wanted.tenant == (letter.tenant if letter.pooled else ""))
        )


@settings(max_examples=settings().max_examples * 4)
@given(
    some=letters,
    state=st.sampled_from(STATES),
    text=mostly("", texts),
    error=mostly("", texts | st.just("IOErr")),
    cause=mostly("", st.sampled_from([UNKNOWN, fingerprint("IOError", "a"), fingerprint("Other", "7")])),
    tenant=mostly(None, st.sampled_from(["", "acme", "a b", "else"])),
    slot=mostly(None, st.integers(0, SLOTS - 1)),
    since=mostly(None, bounds),
    until=mostly(None, bounds),
    scan=st.integers(1, 9),
    limit=st.none() | st.integers(1, 5),
    moves=st.lists(st.tuples(st.booleans(), st.integers(0, 23)), max_size=8),
)
def test_a_filter_selects_what_a_predicate_selects(
    inspector: Inspector,
    redis_server: EmbeddedRedis,
    some: list[Letter],
    state: Any,
    text: str,
    error: str,
    cause: str,
    tenant: str | None,
    slot: int | None,
    since: int | None,
    until: int | None,
    scan: int,
    limit: int | None,
    moves: list[tuple[bool, int]],
) -> None:
    now = inspector.now_ms()
    base_ms = now + AGO_MS if state in {"delayed", "retrying"} else now - AGO_MS
    if since is not None and until is not None and since > until:
        since, until = until, since
    times = [None if each is None else base_ms + each for each in (since, until)]
    if state == "held":  # which waits for no time, and is asked for by none
        times = [None, None]
    wanted = MessageFilter(state, text, error, cause, slot, *times, tenant=tenant)
    with redis_server.client() as plain:
        stage = Stage(plain, state, base_ms)
        try:
            for letter in some:
                stage.put(letter)
            expected = {id_to_text(each.id) for each in some if stage.fits(wanted, each)}
            seen = inspector.preview("t", wanted)
            assert (seen.count, seen.exact) == (len(expected), True)
            assert {row.id for row in seen.examples} <= expected
            assert len(seen.examples) == min(5, len(expected))
            estimate = inspector.preview("t", wanted, scan=4)
            assert 0 <= estimate.count <= estimate.total == seen.total
            assert_pages_are(expected, inspector, wanted, scan, limit)
            moving = move_while_paging(inspector, stage, wanted, some, scan, limit, moves)
            assert moving.shown & moving.stayed == expected & moving.stayed
            assert moving.shown <= expected | moving.came
        finally:
            stage.clear()


def assert_pages_are(
    expected: set[str], inspector: Inspector, wanted: MessageFilter, scan: int, limit: int | None
) -> None:
    shown: list[str] = []
    refs: list[str] = []
    cursor, looked = None, 0
    while True:
        found = inspector.select("t", wanted, cursor, scan, limit)
        refs += [ref.id for ref in inspector.select_refs("t", wanted, cursor, scan, limit).refs]
        shown += [row.id for row in found.rows]
        assert all(row.state == wanted.state for row in found.rows)
        assert limit is None or len(found.rows) <= limit
        assert 0 <= found.looked_at - looked <= scan
        assert found.looked_at <= found.total
        cursor, looked = found.next_cursor, found.looked_at
        if cursor is None:
            break
    assert looked == found.total
    assert sorted(shown) == sorted(expected)
    assert refs == shown


@dataclass
class Moved:
    shown: set[str]
    stayed: set[str]
    came: set[str]


def move_while_paging(
    inspector: Inspector,
    stage: Stage,
    wanted: MessageFilter,
    some: list[Letter],
    scan: int,
    limit: int | None,
    moves: list[tuple[bool, int]],
) -> Moved:
    """Between two pages one letter goes or one comes."""
    left, came, gone = list(moves), set(), set()
    shown: list[str] = []
    cursor = None
    while True:
        found = inspector.select("t", wanted, cursor, scan, limit)
        shown += [row.id for row in found.rows]
        cursor = found.next_cursor
        if cursor is None:
            break
        if left and some:
            comes, which = left.pop()
            letter = some[which % len(some)]
            if comes:
                newcomer = Letter(**(vars(letter) | {"number": 1_000 + len(left)}))
                stage.put(newcomer)
                came.add(id_to_text(newcomer.id))
            else:
                stage.take_away(letter)
                gone.add(id_to_text(letter.id))
    assert len(shown) == len(set(shown))
    everything = {id_to_text(each.id) for each in some}
    return Moved(set(shown), everything - gone, came)


# -- what comes from outside --------------------------------------------------------------------------------------


@given(
    st.builds(
        MessageFilter,
        st.sampled_from(STATES),  # type: ignore[arg-type]
        text=texts,
        error=st.just("") | texts,
        fingerprint=st.just("") | st.just(UNKNOWN),
        slot=st.none() | st.integers(0, 4095),
        since_ms=st.none() | st.integers(0, 100),
        until_ms=st.none() | st.integers(100, MS_MAX),
    )
)
def test_a_mapping_tells_all_of_a_filter(wanted: MessageFilter) -> None:
    reported = wanted.to_mapping()
    assert MessageFilter.from_mapping(reported) == wanted
    numbers = {name: str(value) if isinstance(value, int) else value for name, value in reported.items()}
    assert MessageFilter.from_mapping(numbers) == wanted


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({}, "state"),
        ({"state": "in_flight"}, "state"),
        ({"state": None}, "state"),
        ({"state": ["dead"]}, "state"),
        ({"state": "dead", "colour": "red"}, "colour"),
        ({"state": "dead", "text": 7}, "text"),
        ({"state": "dead", "text": "x" * (TEXT_MAX + 1)}, "text"),
        ({"state": "dead", "text": "\ud800"}, "text"),
        ({"state": "dead", "error": b"x"}, "error"),
        ({"state": "dead", "fingerprint": "abc"}, "fingerprint"),
        ({"state": "dead", "fingerprint": "G" * 16}, "fingerprint"),
        ({"state": "dead", "fingerprint": 1}, "fingerprint"),
        ({"state": "dead", "slot": -1}, "slot"),
        ({"state": "dead", "slot": True}, "slot"),
        ({"state": "dead", "slot": "1.5"}, "slot"),
        ({"state": "dead", "slot": 4096}, "slot"),
        ({"state": "dead", "since_ms": "soon"}, "since_ms"),
        ({"state": "dead", "since_ms": 2**60}, "since_ms"),
        ({"state": "dead", "since_ms": 2, "until_ms": 1}, "until_ms"),
        ([], "filter"),
    ],
)
def test_what_is_wrong_is_named(values: Any, field: str) -> None:
    with pytest.raises(errors.InvalidFilter, match=field) as refused:
        MessageFilter.from_mapping(values)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        ({}, False),
        ({"fingerprint": UNKNOWN, "slot": 1, "since_ms": 1}, False),
        ({"text": "a"}, True),
        ({"error": "a"}, True),
    ],
)
def test_asking_for_words_takes_the_right_to_read_them(options: dict[str, Any], needed: bool) -> None:
    assert MessageFilter("dead", **options).needs_content is needed
