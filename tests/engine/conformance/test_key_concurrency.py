"""So many of a slot basis are in flight at once, and others of the slot go on (`key_concurrency`)."""

from __future__ import annotations

import pytest

from rmq_core import FixedTimeMessage, PriorityMessage, RangeMergeMessage, TopicKind
from rmq_core.errors import InvalidTopic
from rmq_core.model.topic import Topic
from rmq_core.protocol.takes import cycle, read_cycle, takeover
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.conftest import few_servers

pytestmark = few_servers


async def begin(bench: Bench, *names: str, **options: object) -> Topic:
    """Messages of the slot bases that are their first letters, ready in that order."""
    topic = await bench.topic(**({"key_concurrency": 1} | options))
    await bench.q.send_many("work", [PriorityMessage(name, 20, key=name, slot_basis=name[0]) for name in names])
    return topic


async def texts(bench: Bench, most: int = 100) -> list[str]:
    return [each.text for each in await bench.q.take("work", most)]


async def test_others_of_the_slot_go_on_and_the_next_comes_when_one_is_done(bench: Bench) -> None:
    await begin(bench, "a1", "a2", "b1", "a3", "b2", "c1")
    taken = await bench.q.take("work", 100)
    assert [each.text for each in taken] == ["a1", "b1", "c1"]
    assert await texts(bench) == []
    (sample,) = await bench.inspector.sample(["work"])
    assert (sample.held, sample.keys_waiting, sample.in_order) == (3, 2, 0)
    await bench.q.ack(taken[0])
    (second,) = await bench.q.take("work", 100)
    assert second.text == "a2"
    await bench.q.ack(taken[1:])
    assert await texts(bench) == ["b2"]
    await bench.q.ack(second)
    assert await texts(bench) == ["a3"]
    assert await bench.inspector.holds("work") == [], "nobody made one"


@pytest.mark.parametrize("kind", [TopicKind.RANGE_MERGE, TopicKind.PRIORITY, TopicKind.FIXED_TIME])
async def test_in_every_kind_each_keeps_its_place(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind, key_concurrency=2)
    now = await bench.now_ms()
    for n, name in enumerate(["a1", "a2", "a3", "b1", "a4", "a5"]):
        if kind is TopicKind.PRIORITY:
            message = PriorityMessage(name, 900 - n, key=name, slot_basis=name[0])
        elif kind is TopicKind.FIXED_TIME:
            message = FixedTimeMessage(name, now - 1000 + n, key=name, slot_basis=name[0])
        else:
            message = RangeMergeMessage(name, 1, key=name, slot_basis=name[0])
        await bench.q.send("work", message)

    async def all_ready() -> bool:
        return (await bench.inspector.sample(["work"]))[0].ready == 6

    await bench.until(all_ready, "all to be ready")
    held = {each.text: each for each in await bench.q.take("work", 100)}
    assert list(held) == ["a1", "a2", "b1"]
    assert await texts(bench) == []
    if kind is TopicKind.PRIORITY:
        await bench.q.send("work", "a0", key="a0", priority=1000, slot_basis="a")
        assert await texts(bench) == [], "it would be the next"
        await bench.q.ack(held["a2"])
        assert await texts(bench) == ["a0"]
        await bench.q.ack(held["a1"])
    else:
        await bench.q.ack([held["a1"], held["a2"]])
    expected = ["a3"] if kind is TopicKind.PRIORITY else ["a3", "a4"]
    assert await texts(bench) == expected


@pytest.mark.parametrize("how", ["ack", "nack", "reject", "release", "later", "timeout", "takeover"])
async def test_whatever_ends_a_delivery_makes_room(bench: Bench, how: str) -> None:
    # The death of an owner, or a timeout, is seen by a take; whoever settles may be another client than the taker.
    topic = await begin(bench, "a1", "a2", "a3", backoff_ms=FAR_MS, backoff_max_ms=FAR_MS, max_retries=1)
    first = await bench.take_one()
    assert await texts(bench) == []
    if how == "timeout":  # only now: on a busy machine a short one ends before it is looked
        topic = await bench.redefine(topic, visibility_timeout_ms=100)
    if how == "takeover":
        await bench.run(takeover(bench.q.keyspace, topic, 0, ""))
    elif how == "reject":
        await bench.q.reject(first)
    elif how == "later":
        await bench.q.release(first, delay_ms=FAR_MS)
    elif how != "timeout":
        await getattr(bench.q, how)(first)
    left = {"ack": "23", "nack": "23", "reject": "23", "later": "23"}.get(how, "123")
    found: list[str] = []
    while len(found) < len(left):
        (following,) = await bench.q.take("work", 100, timeout_ms=5_000)
        found.append(following.text)
        await bench.q.ack(following)
    if how in {"timeout", "takeover"}:  # it failed: what is fresh comes before it, mostly
        found.sort()
    assert found == [f"a{n}" for n in left], "what is given back keeps its place"


async def test_a_delivery_that_is_extended_keeps_its_room(bench: Bench) -> None:
    await begin(bench, "a1", "a2", visibility_timeout_ms=200)
    first = await bench.take_one()
    await bench.q.extend(first, for_ms=FAR_MS)
    assert await texts(bench) == []
    assert await bench.q.take("work", 5, timeout_ms=400) == []
    await bench.q.ack(first)
    assert (await bench.take_one()).text == "a2"


async def test_a_message_of_no_basis_waits_for_nobody(bench: Bench) -> None:
    await begin(bench)
    for name in ("x", "y"):
        await bench.q.send("work", name, priority=20)
        await bench.q.send("work", name, priority=20, key=f"key of {name}")
    assert len(await texts(bench)) == 4


async def test_keys_where_nothing_merges(bench: Bench) -> None:
    await begin(bench, merge="never")
    for n in range(3):
        await bench.q.send("work", str(n), priority=20, key="k")
        await bench.q.send("work", str(n), priority=20, key="l")
    taken: list[str] = []
    while some := await bench.q.take("work", 100):
        assert len(some) == 2
        taken += [each.text for each in some]
        await bench.q.ack(some)
    assert taken == ["0", "0", "1", "1", "2", "2"]


async def test_many_of_one_key_do_not_stand_in_the_way_and_are_set_aside_once(bench: Bench) -> None:
    await bench.topic(key_concurrency=1)
    await bench.q.send_many("work", [PriorityMessage(f"a{n}", 30, key=f"a{n}", slot_basis="a") for n in range(2000)])
    await bench.q.send("work", "b", key="b", priority=20, slot_basis="b")
    first = await bench.take_one()
    looks = 0
    while not (found := await bench.q.take("work", 1)):
        looks += 1
    assert found[0].text == "b" and looks <= 10
    for n in range(1, 4):
        await bench.q.ack(first)
        (first,) = await bench.q.take("work", 100)
        assert first.text == f"a{n}"
    stats = bench.ledger().stats
    assert (stats["held"], stats["lifted"]) == (1999, 3)


async def test_one_that_came_back_and_is_gone_keeps_nobody_waiting(bench: Bench) -> None:
    await begin(bench, "a1", "a2", "a3", "a4")
    first = await bench.take_one()
    assert await texts(bench) == []
    await bench.q.ack(first)  # a2 is back
    assert [each.status for each in await bench.control.cancel("work", ["a2", "a3"])] == ["done", "done"]
    assert (await bench.take_one()).text == "a4"


async def test_one_that_is_of_another_key_now_keeps_nobody_of_its_old_one_waiting(bench: Bench) -> None:
    await begin(bench, "a1", "b1", "a2", "a3")
    taken = {each.text: each for each in await bench.q.take("work", 100)}
    assert taken.keys() == {"a1", "b1"} and await texts(bench) == []
    await bench.q.send("work", "now b", key="a2", priority=20, slot_basis="b")
    await bench.q.ack(taken["a1"])
    assert [each.text for each in await bench.q.take("work", 100, timeout_ms=5_000)] == ["a3"]
    await bench.q.ack(taken["b1"])
    assert [each.text for each in await bench.q.take("work", 100, timeout_ms=5_000)] == ["now b"]


async def test_one_that_was_moved_to_the_front_takes_one_place(bench: Bench) -> None:
    """Where a worker settles and takes in one step."""
    topic = await begin(bench, "a1", "a2", "a3", "a4", "a5", key_concurrency=2)
    taken = await bench.q.take("work", 100)
    assert await texts(bench) == []
    await bench.q.send("work", "a4", key="a4", priority=700, slot_basis="a")
    acks = [(each.raw_id, each.receipt) for each in taken]
    reply = await bench.run(cycle(bench.q.keyspace, topic, 0, 100, acks=acks))
    assert [each.text for each in read_cycle(topic, 0, reply).deliveries] == ["a4", "a3"]


async def test_what_no_longer_waits_is_counted_no_more(bench: Bench) -> None:
    """With a higher limit all come back at once, and are taken one by one."""
    topic = await begin(bench, "a1", "a2", "a3")
    taken = await bench.q.take("work", 100)
    assert await texts(bench) == []
    await bench.redefine(topic, key_concurrency=5)
    while len(taken) < 3:
        taken += await bench.q.take("work", 1, timeout_ms=5_000)
    (sample,) = await bench.inspector.sample(["work"])
    assert (sample.held, sample.keys_waiting) == (0, 0)
    keys = bench.q.keyspace.slot("work", 0)
    assert not bench.raw.exists(keys.order_waits, keys.order_since)


async def test_a_newer_send_merges_into_what_waits(bench: Bench) -> None:
    await begin(bench, "a1", "a2", "a3")
    first = await bench.take_one()
    assert await texts(bench) == []
    await bench.q.send("work", "a3 again", key="a3", priority=700, slot_basis="a")
    await bench.q.send("work", "a1 again", key="a1", priority=800, slot_basis="a")
    assert await texts(bench) == [], "the one in flight is of its key, too"
    await bench.q.ack(first)
    found = [each.text for each in await bench.drain()]
    assert found[0] == "a1 again" and sorted(found) == ["a1 again", "a2", "a3 again"]


async def test_retries_come_before_the_others_of_their_key_where_they_are_due(bench: Bench) -> None:
    topic = await bench.topic(TopicKind.FIXED_TIME, key_concurrency=1)
    now = await bench.now_ms()
    for n in range(4):
        await bench.q.send("work", FixedTimeMessage(f"a{n}", now - 1000 + n, key=f"a{n}", slot_basis="a"))
    first = await bench.take_one()
    assert await texts(bench) == []
    await bench.q.nack(first)
    (again,) = await bench.q.take("work", 100)
    assert (again.text, again.attempt) == ("a0", 2)
    assert topic.key_concurrency == 1


async def test_behind_a_failure_all_of_the_key_wait(bench: Bench) -> None:
    await begin(bench, "a1", "a2", "a3", "b1", on_failure="wait", backoff_ms=FAR_MS, backoff_max_ms=FAR_MS)
    taken = await bench.q.take("work", 100)
    assert [each.text for each in taken] == ["a1", "b1"]
    await bench.q.nack(taken[0])
    assert await texts(bench) == []
    await bench.control.run_now("work", "a1")
    assert [each.text for each in await bench.drain()] == ["a1", "a2", "a3"]


async def test_another_limit_holds_at_once(bench: Bench) -> None:
    topic = await begin(bench, *(f"a{n}" for n in range(8)), key_concurrency=2)
    taken = await bench.q.take("work", 100)
    assert len(taken) == 2
    topic = await bench.redefine(topic, key_concurrency=4)
    taken += await bench.q.take("work", 100, timeout_ms=5_000)
    assert [each.text for each in taken] == ["a0", "a1", "a2", "a3"]
    topic = await bench.redefine(topic, key_concurrency=1)
    await bench.q.ack(taken[:3])
    assert await texts(bench) == []
    await bench.q.ack(taken[3])
    assert await texts(bench) == ["a4"]
    await bench.redefine(topic, key_concurrency=0)
    assert [each.text for each in await bench.q.take("work", 100, timeout_ms=5_000)] == ["a5", "a6", "a7"]
    keys = bench.q.keyspace.slot("work", 0)

    async def forgotten() -> bool:
        await bench.q.take("work")
        return not (bench.raw.exists(keys.order_waits) or bench.raw.exists(keys.order_since))

    await bench.until(forgotten, "what waited to be forgotten")


async def test_from_an_order_to_a_limit_and_back(bench: Bench) -> None:
    topic = await bench.topic(in_order=True, slots=1)
    for version in (3, 2):
        await bench.q.send("work", str(version), key="a", version=version, priority=20, slot_basis="a")
    assert await texts(bench) == []
    topic = await bench.redefine(topic, in_order=False, key_concurrency=1)
    taken = await bench.q.take("work", 5)
    assert len(taken) == 1 and await texts(bench) == []
    await bench.redefine(topic, in_order=True, key_concurrency=0)
    await bench.q.ack(taken)
    assert (await bench.inspector.sample(["work"]))[0].backlog == 1


async def test_keys_of_odd_bytes_are_kept_apart(bench: Bench) -> None:
    await bench.topic(key_concurrency=1)
    keys = [b"a", b"a\x00", b"a0", b"1:a", b"\xff", b"a\xff", b"a:", b"0" * 40]
    for n in range(3):
        for key in keys:
            await bench.q.send(
                "work", PriorityMessage(b"%b %d" % (key, n), 20, key=b"%b %d" % (key, n), slot_basis=key)
            )
    for n in range(3):
        taken = await bench.q.take("work", 100)
        assert {each.content for each in taken} == {b"%b %d" % (key, n) for key in keys}
        assert await texts(bench) == []
        await bench.q.ack(taken)


async def test_tenants_take_turns_besides(bench: Bench) -> None:
    await bench.topic(key_concurrency=1, fair=True)
    await bench.q.send_many(
        "work",
        [
            PriorityMessage(f"{tenant}{n}", 20, key=f"{tenant}{n}", slot_basis=f"{tenant}{n % 2}", tenant=tenant)
            for tenant in "abc"
            for n in range(6)
        ],
    )
    found: list[str] = []
    while some := await bench.q.take("work", 100, timeout_ms=200):
        bases = [(each.text[0], int(each.text[1]) % 2) for each in some]
        assert len(bases) == len(set(bases))
        found += [each.text for each in some]
        await bench.q.ack(some)
    assert sorted(found) == sorted(f"{tenant}{n}" for tenant in "abc" for n in range(6))
    for tenant in "abc":
        for parity in (0, 1):
            own = [each for each in found if each[0] == tenant and int(each[1]) % 2 == parity]
            assert own == sorted(own)


async def test_what_does_not_go_with_it(bench: Bench) -> None:
    for field, why in (({"in_order": True}, "one version"), ({"kind": TopicKind.STREAM}, "stream")):
        with pytest.raises(InvalidTopic, match=why):
            Topic(**({"name": "t", "kind": TopicKind.PRIORITY, "key_concurrency": 1} | field))  # type: ignore[arg-type]
    with pytest.raises(InvalidTopic, match="key_concurrency="):
        Topic("t", TopicKind.PRIORITY, key_concurrency=-1)


async def test_why_it_is_late(bench: Bench) -> None:
    await begin(bench, "a1", "a2", "a3", "b1", "b2")
    taken = await bench.q.take("work", 100)
    assert await texts(bench) == [] and len(taken) == 2
    assert (await bench.inspector.why("work", "a2")).reasons[0].values == {"limit": 1, "keys": 2}
    for why in (await bench.inspector.why("work"), await bench.inspector.why("work", slot=0)):
        (reason,) = [each for each in why.reasons if each.code == "keys_full"]
        assert reason.values == {"held": 3, "keys": 2, "limit": 1}
        assert "holds_back" not in [each.code for each in why.reasons]
