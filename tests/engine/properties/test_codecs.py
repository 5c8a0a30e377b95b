"""Ids, bodies, slots and definitions survive the way there and back, whatever they hold."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from hashlib import blake2b

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rmq_core import FixedTimeMessage, PriorityMessage, RangeMergeMessage, Topic, errors
from rmq_core.model.bodies import basis_of, decode_body, encode_body, quoted
from rmq_core.model.entry_form import ENTRY_FORMAT, from_body, to_body
from rmq_core.model.ids import id_from_text, id_to_text
from rmq_core.model.message import HEADERS_MAX, encode
from rmq_core.model.report import RESULT_HEADER, says_for_how_long
from rmq_core.model.topic import QUEUE_KINDS
from rmq_core.pipeline.sources.decoding import basis_in
from rmq_core.protocol.keys import QUEUE_KEYS, Keyspace, slot_for
from rmq_core.queries.owners import from_ranges, to_ranges

ids = st.binary(min_size=1, max_size=512) | st.text(min_size=1, max_size=80).filter(
    lambda text: not any("\ud800" <= each <= "\udfff" for each in text)
).map(str.encode)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=100)


@given(ids)
def test_an_id_comes_back_from_its_text(raw: bytes) -> None:
    text = id_to_text(raw)
    assert id_from_text(text) == raw
    assert text.isprintable()
    assert text


@given(st.lists(ids, unique=True, min_size=2))
def test_no_two_ids_share_a_text(several: list[bytes]) -> None:
    assert len({id_to_text(raw) for raw in several}) == len(several)


@given(st.text(max_size=30))
def test_a_text_is_an_id_or_is_refused(text: str) -> None:
    try:
        raw = id_from_text(text)
    except errors.InvalidMessage as error:
        assert repr(text) in str(error)
    else:
        assert isinstance(raw, bytes)


headers = st.none() | st.dictionaries(texts | st.just(""), texts | st.just(""), max_size=5)


@given(
    content=st.binary(min_size=1, max_size=300) | texts,
    key=st.none() | texts | st.binary(min_size=1, max_size=50),
    headers=headers,
    version=st.integers(0, 2**53 - 1),
    slot_basis=st.none() | texts | st.binary(min_size=1, max_size=50),
    expires_ms=st.sampled_from([None, None, 0, 1, 60_000]),
    tenant=st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=16),
)
def test_a_body_comes_back_and_identity_follows_the_rule(
    content: str | bytes,
    key: str | bytes | None,
    headers: dict[str, str] | None,
    version: int,
    slot_basis: str | bytes | None,
    expires_ms: int | None,
    tenant: str | None,
) -> None:
    for each in (key, slot_basis):
        assume(each is None or len(each if isinstance(each, bytes) else each.encode()) <= 512)
    own = {"key": key, "headers": headers, "version": version, "slot_basis": slot_basis, "expires_ms": expires_ms}
    message = PriorityMessage(content, 20, tenant=tenant, **own)  # type: ignore[arg-type]
    encoded = encode(message)
    raw = content if isinstance(content, bytes) else content.encode()
    if key is not None:
        assert encoded.id == (key if isinstance(key, bytes) else key.encode())
        own_basis = encoded.id
    else:
        assert encoded.id == (raw if len(raw) <= 64 else blake2b(raw, digest_size=16).digest())
        own_basis = raw
    basis = slot_basis.encode() if isinstance(slot_basis, str) else slot_basis
    assert encoded.basis == (basis or own_basis)
    if encoded.body is None:
        assert (encoded.id, headers or {}, version, expires_ms or 0, tenant or "") == (raw, {}, 0, 0, "")
        assert basis in {None, encoded.id}
        return
    decoded = decode_body(encoded.body)
    assert decoded == (raw, headers or {}, version, None if basis == encoded.id else basis, None, tenant or "")
    marks = (b"e+%d" % expires_ms if expires_ms else b"") + (b"t" + quoted(tenant) if tenant else b"")
    assert encoded.body.startswith(b"\x03%b " % marks if marks else b"\x01")
    assert basis_in(encoded.body) == decoded.basis, "the archive reads it there"
    assert basis_of(encoded.id, decoded) == encoded.basis


@given(content=st.binary(max_size=300), headers=headers, version=st.integers(0, 2**53 - 1))
def test_a_body_of_an_older_release_is_read(content: bytes, headers: dict[str, str] | None, version: int) -> None:
    head = json.dumps(headers, separators=(",", ":")).encode() if headers else b""
    old = b"%d %d %b%b" % (version, len(head), head, content)
    assert decode_body(old) == (content, headers or {}, version, None, None, "")


def test_a_body_tells_until_when_its_message_may_be_delivered() -> None:
    plain = encode_body(b"x", b"", 5, b"basis")
    assert decode_body(encode_body(b"x", b"", 5, b"basis", expires=b"17")) == (*decode_body(plain)[:4], 17, "")
    for later in (b"\x03u5 " + plain[1:], b"\x03e5u5 " + plain[1:], b"\x03t " + plain[1:], b"\x03" + plain[1:]):
        with pytest.raises(errors.InvalidMessage, match="newer release"):
            decode_body(later)


@given(st.binary(max_size=50), st.integers(4, 255).filter(lambda byte: not chr(byte).isdigit()))
def test_a_body_of_a_newer_release_is_refused_with_a_sentence(rest: bytes, form: int) -> None:
    with pytest.raises(errors.InvalidMessage, match="newer release"):
        decode_body(bytes([form]) + rest)


@given(st.binary())
def test_a_broken_entry_is_refused_with_a_sentence(rest: bytes) -> None:
    with contextlib.suppress(errors.InvalidMessage):
        assert len(from_body(ENTRY_FORMAT + rest)) % 2 == 0


@given(st.binary(min_size=1), st.integers(0, 12))
def test_a_slot_is_the_standard_crc_of_its_basis(basis: bytes, bits: int) -> None:
    crc = 0xFFFFFFFF
    for byte in basis:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0xEDB88320 * (crc & 1)
    assert slot_for(basis, 2**bits) == (crc ^ 0xFFFFFFFF) % 2**bits


def test_slots_are_those_of_every_other_client() -> None:
    assert slot_for(b"123456789", 4096) == 0xCBF43926 % 4096
    assert [slot_for(name, 64) for name in (b"a", b"order-7", "Zürich".encode())] == [3, 26, 62]


@given(st.integers(0, 4095))
def test_all_keys_of_a_slot_share_one_hash_tag(slot: int) -> None:
    keys = Keyspace("ns").slot_keys("price", slot)
    assert keys[0] == f"ns:price_{slot}"
    assert all(key.endswith(f"{{ns:price_{slot}}}") for key in keys if key != keys[0])
    # Where keys are spread over nodes, the store stands in the places of the two hints.
    assert len(set(keys)) == len(QUEUE_KEYS) - 2
    assert [name for name, key in zip(QUEUE_KEYS, keys, strict=True) if key == keys[0]] == ["store", "heads", "due"]
    together = Keyspace("ns", spread=False).slot_keys("price", slot)
    assert len(set(together)) == len(QUEUE_KEYS)
    space = Keyspace("ns")
    assert set(together) - set(keys) == {*space.hints("price")[:2], space.turns("price")}


topics = st.builds(
    Topic,
    name=st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,99}", fullmatch=True),
    kind=st.sampled_from(QUEUE_KINDS),
    slots=st.integers(0, 12).map(lambda bits: 2**bits),
    max_retries=st.integers(0, 16),
    visibility_timeout_ms=st.integers(100, 86_400_000),
    backoff_ms=st.integers(0, 1_000),
    backoff_max_ms=st.integers(1_000, 86_400_000),
    weight=st.integers(1, 1_000),
    paused=st.booleans(),
    merge=st.sampled_from(["latest", "first"]),
    description=st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Cn", "Zl", "Zp"]), max_size=200),
)


@given(topics)
def test_a_definition_comes_back_from_the_registry(topic: Topic) -> None:
    stored = '{"version":3,"updated_ms":7,' + topic.to_json()[1:]
    assert Topic.from_stored(stored) == replace(topic, version=3, updated_ms=7)
    assert Topic.from_stored(stored).same_definition(topic)


@given(st.sets(st.integers(0, 4095)))
def test_slot_ranges_come_back(slots: set[int]) -> None:
    assert from_ranges(to_ranges(slots)) == tuple(sorted(slots))


def test_headers_are_bounded_as_they_are_stored() -> None:
    room = HEADERS_MAX - len('{"a":""}')
    RangeMergeMessage("x", 1, headers={"a": "x" * room})
    with pytest.raises(errors.InvalidMessage, match="headers"):
        FixedTimeMessage("x", 10**12, headers={"a": "x" * (room + 1)})


def test_only_what_may_say_so_is_read_for_how_long_results_are_kept() -> None:
    """To read every body's headers would cost as much as calling its listener."""
    headers = json.dumps({RESULT_HEADER: "60000"}).encode()
    for may in (encode_body(b"x", headers, 0, b""), [b"h", headers, b"v", b"x"], to_body([b"v", b"x", b"h", headers])):
        assert says_for_how_long(may)
    for may_not in (None, (b"x",), encode_body(b"x", b"", 0, b""), [b"v", b"x"], to_body([b"v", b"x"])):
        assert not says_for_how_long(may_not)
