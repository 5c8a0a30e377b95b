"""Bodies without what they say of erased messages: that goes, and nothing else does."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rmq_core import Addressed, Merge, StreamMessage, Topic, TopicKind
from rmq_core.model.bodies import Body, decode_body
from rmq_core.model.composing import composed
from rmq_core.model.entry import encode_entry
from rmq_core.model.entry_form import to_body
from rmq_core.model.follow_ups import AFTER_HEADER, ERASED, THEN_HEADER, after_text, plan_of
from rmq_core.model.message import encode
from rmq_core.ops import chains
from rmq_core.ops.mentions import Gone, Mentioned, redacted, told_of
from rmq_core.protocol.keys import slot_for

TOPICS = {
    "merging": Topic("merging", TopicKind.PRIORITY, slots=8),
    "never": Topic("never", TopicKind.PRIORITY, slots=4, merge=Merge.NEVER, expires_ms=1_000),
    "stream": Topic("stream", TopicKind.STREAM, slots=2),
}
KNOWN = {name: (topic,) for name, topic in TOPICS.items()}


class Sent(NamedTuple):
    topic: str
    slot: int
    id: bytes
    body: bytes


contents = st.one_of(st.binary(min_size=1, max_size=80), st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
ids = st.one_of(st.none(), st.binary(min_size=1, max_size=12), st.sampled_from(["k", "ann's", "%20", "a b"]))
headers = st.dictionaries(st.sampled_from(["a", "rmq", 'q"', "é"]), st.text(max_size=5), max_size=2)


@st.composite
def plans(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Steps that follow each other; the last one may go to a stream."""
    steps = []
    size = draw(st.integers(2, 5))
    for number in range(size):
        last = number == size - 1
        topic = draw(st.sampled_from([*TOPICS] if last else ["merging", "never"]))
        content = draw(contents)
        mark = f"{number}." * 3
        step: dict[str, Any] = {
            "topic": topic,
            "content": mark + content if isinstance(content, str) else mark.encode() + content,
        }
        step |= {"headers": draw(headers), "how": draw(st.sampled_from(["if_done", "if_dead"]))}
        if topic != "stream":
            step |= {"key": draw(ids), "slot_basis": draw(ids), "tenant": draw(st.sampled_from([None, "of %/ us"]))}
        steps.append(step)
    return steps


def addressed(steps: list[dict[str, Any]]) -> Addressed:
    step, rest = steps[0], steps[1:]
    options: dict[str, Any] = {name: step[name] for name in ("key", "slot_basis", "tenant") if step.get(name)}
    if step["headers"]:
        options["headers"] = step["headers"]
    if step["topic"] != "stream":
        options["priority"] = 500
    if rest:
        options[step["how"]] = addressed(rest)
    return Addressed(step["topic"], step["content"], **options)


def stored(topic: Topic, message: Any) -> Sent:
    if isinstance(message, StreamMessage):
        entry = encode_entry(message)
        return Sent(topic.name, 0, b"1764000000000-0", to_body(entry.pairs))
    made = encode(message, topic)
    return Sent(topic.name, slot_for(made.basis, topic.slots), made.id, made.body or b"")


def sent_of(steps: list[dict[str, Any]]) -> list[Sent]:
    """Each of a chain as the engine sends it, when the one before has ended."""
    found = [stored(TOPICS[steps[0]["topic"]], composed(addressed(steps)))]
    for step in steps[:-1]:
        before = found[-1]
        body = decode_body(before.body)
        caught: list[Any] = []

        def send(topic: str, message: Any, _: bool, into: list[Any] = caught) -> Any:
            into.append((topic, message))
            yield from ()

        then = getattr(plan_of(body.headers), step["how"])
        for _ in chains._send(then, send, before.topic, before.slot, before.id, body):
            raise AssertionError("nothing is asked of a server")
        ((topic, message),) = caught
        found.append(stored(TOPICS[topic], message))
    return found


def without_mentions(body: Body) -> Body:
    kept = {name: value for name, value in body.headers.items() if name not in (THEN_HEADER, AFTER_HEADER)}
    return body._replace(headers=kept)


@settings(max_examples=300)
@given(plans(), st.data())
def test_only_what_is_said_of_the_erased_one_goes(steps: list[dict[str, Any]], data: st.DataObject) -> None:
    chain = sent_of(steps)
    which = data.draw(st.integers(0, len(chain) - 1))
    mine = chain[which]
    # With the same key twice in a chain both are that message.
    assume(sum((each.topic, each.id) == (mine.topic, mine.id) for each in chain) == 1)
    told = {one: mine.id for one in [told_of(mine.topic, mine.body)] if one}
    if mine.topic != "stream" and data.draw(st.booleans()):
        told = {}  # its own body was never archived
    gone = Gone(frozenset({(mine.topic, mine.id)}), topics=KNOWN, told=told)
    for place, each in enumerate(chain):
        body, mentioned = redacted(each.topic, each.slot, each.id, each.body, gone)
        before, after = decode_body(each.body), decode_body(body)
        assert without_mentions(before) == without_mentions(after)
        assert body[: body.index(b" ")] == each.body[: each.body.index(b" ")] if each.topic != "stream" else True
        if place < which:
            assert mentioned == [Mentioned(mine.topic, mine.id)]
            was, now = (json.loads(one.headers[THEN_HEADER]) for one in (before, after))
            for step in steps[place : which - 1]:
                was, now = was[step["how"]], now[step["how"]]
                assert was["content"] == now["content"]
            how = steps[which - 1]["how"]
            assert {**was, how: {"topic": mine.topic, ERASED: True}} == now
            assert getattr(plan_of(after.headers), steps[place]["how"]) is None or place < which - 1
            assert redacted(each.topic, each.slot, each.id, body, gone) == (body, []), "once is enough"
        elif place == which + 1:
            assert mentioned == [Mentioned(mine.topic, mine.id)]
            assert after.headers[AFTER_HEADER] == after_text(mine.topic, mine.slot, b"")
            assert after.headers.get(THEN_HEADER) == before.headers.get(THEN_HEADER)
        else:
            assert (body, mentioned) == (each.body, []) or place == which
    nobody = Gone(frozenset({("other", mine.id)}), topics=KNOWN)
    assert all(redacted(*each[:4], nobody) == (each.body, []) for each in chain)


@given(plans(), st.data())
def test_erased_one_after_the_other_nothing_is_left_of_any(steps: list[dict[str, Any]], data: st.DataObject) -> None:
    chain = sent_of(steps)
    assume(len({(each.topic, each.id) for each in chain}) == len(chain))
    for mine in data.draw(st.permutations(chain[1:])):
        (here,) = [each for each in chain if each[:3] == mine[:3]]
        told = {one: mine.id for one in [told_of(mine.topic, here.body)] if one}
        gone = Gone(frozenset({(mine.topic, mine.id)}), topics=KNOWN, told=told)
        others = [each for each in chain if each is not here]
        chain = [each._replace(body=redacted(*each[:4], gone)[0]) for each in others]
    (first,) = chain
    was, now = (decode_body(body).headers for body in (sent_of(steps)[0].body, first.body))
    assert now == was | {
        THEN_HEADER: json.dumps({steps[0]["how"]: {"topic": steps[1]["topic"], ERASED: True}}, **DENSE)
    }


@given(plans())
def test_what_was_to_follow_it_is_found_where_a_route_has_taken_it_on(steps: list[dict[str, Any]]) -> None:
    first, mine, *_ = sent_of([steps[0] | {"topic": "merging"}, *steps[1:]])
    told = {one: mine.id for one in [told_of(mine.topic, mine.body)] if one}
    gone = Gone(frozenset({(mine.topic, mine.id)}), topics=KNOWN, told=told)
    assert redacted("before", 3, first.id, first.body, gone)[1] == [Mentioned(mine.topic, mine.id)]


def test_who_is_meant() -> None:
    """By id or slot basis, in the topics that are asked for, and not what is kept."""
    then = Addressed("merging", "of ann", priority=500, key="ann-1", slot_basis="ann")
    sent = stored(TOPICS["merging"], composed(Addressed("merging", "x", priority=500, key="k", if_done=then)))

    def mentioned(**of: Any) -> list[Mentioned]:
        return redacted(*sent, Gone(topics=KNOWN, **of))[1]

    ann = Mentioned("merging", b"ann-1")
    assert mentioned(ids=frozenset({b"ann-1"})) == mentioned(bases=frozenset({b"ann"})) == [ann]
    assert mentioned(ids=frozenset({b"ann"})) == mentioned(messages=frozenset({("never", b"ann-1")})) == []
    assert mentioned(ids=frozenset({b"ann-1"}), scope=frozenset({"merging"})) == [ann]
    assert mentioned(ids=frozenset({b"ann-1"}), scope=frozenset({"never"})) == []
    assert mentioned(bases=frozenset({b"ann"}), kept=frozenset({("merging", b"ann-1")})) == []


DENSE: dict[str, Any] = {"separators": (",", ":"), "ensure_ascii": False}


@given(st.binary(max_size=200), st.sampled_from([b"", b"\x01", b"\x02", b"\x03", b"0 "]))
def test_what_nobody_can_read_stays(noise: bytes, form: bytes) -> None:
    for body in (form + noise, form + noise + b'"rmq-then"', form + b'0 0 12 {"rmq-then":' + noise):
        assert redacted("t", 0, b"i", body, Gone(ids=frozenset({b"i", noise}))) == (body, [])
