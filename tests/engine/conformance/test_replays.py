"""Lost answers: what was sent again says so, keeps its order, and fails nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha1
from typing import Any

import pytest

from rmq_core import RMQ, AsyncProducer, PriorityMessage, Producer, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import Fenced, InvalidMessage
from rmq_core.model.topic import QUEUE_KINDS
from rmq_core.protocol.scripts import BATCH_MAX, Call, Operation, Script, batches
from rmq_core.transport.exchange import ATOMIC_MAX
from rmq_core.transport.retry import Ordered
from tests.engine.conformance.bench import Bench, open_bench
from tests.support.proxy import TcpProxy
from tests.support.waiting import wait_until_async


@pytest.fixture(params=["sync", "async"])
async def bench(
    request: pytest.FixtureRequest, proxy: TcpProxy, redis_server: EmbeddedRedis, namespace: str
) -> AsyncIterator[Bench]:
    raw = redis_server.client()
    async with open_bench(request.param, proxy.url(redis_server.url), namespace, raw) as opened:
        await opened.topic()
        await opened.q.send("work", PriorityMessage("known", 20))
        yield opened
        await opened.control.delete_topic("work", force=True)
    raw.close()


async def test_whether_a_replayed_message_merged_is_not_known(bench: Bench, proxy: TcpProxy) -> None:
    proxy.drop_next_reply(b"EVALSHA")
    sent = await bench.q.send("work", PriorityMessage("new", 20))
    assert proxy.replies_dropped == 1
    assert (sent.id, sent.merged) == ("new", None)
    assert (await bench.q.send("work", PriorityMessage("new", 20))).merged is True
    assert (await bench.q.send("work", PriorityMessage("newer", 20))).merged is False


async def test_a_replay_of_something_else_does_not_make_it_unsure(bench: Bench, proxy: TcpProxy) -> None:
    proxy.cut()  # nothing was under way: what failed had not been taken by anybody
    await bench.q.take("work")
    assert (await bench.q.send("work", PriorityMessage("known", 20))).merged is False


async def test_how_many_of_a_batch_merged_is_not_known(bench: Bench, proxy: TcpProxy) -> None:
    messages = [PriorityMessage(str(n), 20) for n in range(500)]
    proxy.drop_next_reply(b"EVALSHA")
    sent = await bench.q.send_many("work", messages)
    assert (sum(sent), sent.unsure) == (500, sent.merged)
    assert sent.merged > 0
    again = await bench.q.send_many("work", messages)
    assert (again, again.unsure) == ((0, 500), 0)


async def test_a_full_backlog_says_it_too(bench: Bench, proxy: TcpProxy) -> None:
    await bench.topic(name="limited", max_backlog=1_000)
    await bench.q.send("limited", PriorityMessage("known", 20))
    proxy.drop_next_reply(b"EVALSHA")
    assert (await bench.q.send("limited", PriorityMessage("new", 20))).merged is None
    await bench.control.delete_topic("limited", force=True)


@pytest.mark.parametrize("more", [{}, {"headers": {"a": "b"}}], ids=["inline", "pooled"])
async def test_a_delay_counts_from_the_last_time_it_was_accepted(
    bench: Bench, proxy: TcpProxy, more: dict[str, Any]
) -> None:
    """It is due neither before its delay after the call, nor after its delay after the return."""
    await bench.topic(TopicKind.FIXED_TIME, name="timed")
    await bench.q.send(
        "timed", "other", in_ms=90_000, **more
    )  # the server knows the script: no answer says that it does not
    before_ms = await bench.now_ms()
    proxy.drop_next_reply(b"EVALSHA")
    sent = await bench.q.send("timed", "new", in_ms=60_000, **more)
    after_ms = await bench.now_ms()
    assert (proxy.replies_dropped, sent.merged) == (1, None)
    row, _ = (await bench.inspector.messages("timed", "delayed")).rows
    assert before_ms + 60_000 <= row.score_ms <= after_ms + 60_000
    await bench.control.delete_topic("timed", force=True)


async def test_a_time_that_came_while_the_answer_was_lost_is_no_error(bench: Bench, proxy: TcpProxy) -> None:
    await bench.topic(TopicKind.FIXED_TIME, name="timed")
    proxy.drop_next_reply(b"EVALSHA")
    sent = await bench.q.send("timed", "soon", at=await bench.now_ms() + 1)
    assert (proxy.replies_dropped, sent.id) == (1, "soon")
    assert [each.text for each in await bench.drain("timed")] == ["soon"]
    await bench.control.delete_topic("timed", force=True)


async def test_producers_say_it_of_each_message(bench: Bench, proxy: TcpProxy) -> None:
    messages = [PriorityMessage(str(n), 20) for n in range(50)]
    proxy.drop_next_reply(b"EXEC")
    if hasattr(bench.q, "_target"):
        with Producer(bench.q._target, flush_ms=50) as producer:
            futures = [producer.send("work", each) for each in messages]
        sent = [future.result() for future in futures]
    else:
        async with AsyncProducer(bench.q, flush_ms=50) as producer:
            sent = await asyncio.gather(*(producer.send("work", each) for each in messages))
    assert {each.merged for each in sent} == {None}


async def broken(proxy: TcpProxy, what: str, act: Callable[[], object]) -> None:
    """Does what sends, and loses a request or an answer of it, with the connection."""
    before = proxy.replies_dropped
    if what == "a request":
        proxy.stall_at(b"EVAL", nth=2)  # or EVALSHA
    else:
        proxy.drop_next_reply(b"EVAL")
    act()
    await wait_until_async(
        lambda: proxy.stalled.is_set() or proxy.replies_dropped > before, what="the line to be in trouble"
    )
    if what == "a request":
        proxy.cut()  # what is held back never arrives
        proxy.flow()


@asynccontextmanager
async def produced(bench: Bench, one_way: bool, at_once: int) -> AsyncIterator[Callable[[list[str]], None]]:
    """Gives what hands messages to a producer, which sends so many together; all are sent at the end."""
    options = {"flush_count": at_once, "flush_ms": 60_000}
    waiting: list[asyncio.Future[Any]] = []
    if hasattr(bench.q, "_target"):
        producer = Producer(bench.q._target, **options)

        def give(names: list[str]) -> None:
            for name in names:
                if one_way:
                    producer.post("work", PriorityMessage(name, 500))
                else:
                    waiting.append(asyncio.wrap_future(producer.send("work", PriorityMessage(name, 500))))

        yield give
        await asyncio.to_thread(producer.close)
    else:
        async with AsyncProducer(bench.q, **options) as aio:
            way = aio.post if one_way else aio.send

            def give(names: list[str]) -> None:
                waiting.extend(asyncio.ensure_future(way("work", PriorityMessage(name, 500))) for name in names)

            yield give
            await asyncio.gather(*waiting)
    await asyncio.gather(*waiting)


@pytest.mark.parametrize("one_way", [False, True], ids=["awaited", "one way"])
@pytest.mark.parametrize("what", ["a request", "an answer"])
async def test_a_producer_keeps_the_order_of_a_slot_through_reconnects(
    bench: Bench, proxy: TcpProxy, what: str, one_way: bool
) -> None:
    at_once = 2_500 if one_way else 300  # several calls
    names = [f"{(i * 7919) % (3 * at_once):05}" for i in range(3 * at_once)]  # whose own order is another
    seen = proxy.connections_seen
    async with produced(bench, one_way, at_once) as give:
        for part in batches(names, at_once):  # each follows at once on a line that breaks
            await broken(proxy, what, partial(give, part))
    assert proxy.connections_seen - seen >= 3
    assert [each.text for each in await bench.drain()] == [*names, "known"]


@pytest.mark.parametrize("kind", QUEUE_KINDS)
async def test_what_was_accepted_keeps_its_place_though_its_answer_was_lost(
    bench: Bench, proxy: TcpProxy, redis_server: EmbeddedRedis, kind: TopicKind
) -> None:
    """Others come between it and its replay."""
    await bench.topic(kind, name="placed")
    due_ms = await bench.now_ms() + 1_000
    options: dict[str, Any] = {TopicKind.PRIORITY: {"priority": 500}, TopicKind.FIXED_TIME: {"at": due_ms}}.get(
        kind, {"range_ms": 1_000}
    )
    proxy.drop_next_reply(b"EVALSHA")
    proxy.stall_at(b"EVALSHA", nth=2)
    sending = asyncio.ensure_future(bench.q.send("placed", "z", **options))
    await wait_until_async(proxy.stalled.is_set, what="the replay to be on its way")
    with RMQ(redis_server.url, bench.namespace) as other:
        for name in "ca":
            other.send("placed", name, **options)
    proxy.flow()
    assert ((await sending).merged, proxy.replies_dropped) == (None, 1)
    came: list[str] = []
    while len(came) < 3:
        some = await bench.q.take("placed", 3, timeout_ms=5_000)
        assert some
        came += [each.text for each in some]
        await bench.q.ack(some)
    assert came == ["z", "c", "a"]
    await bench.control.delete_topic("placed", force=True)


async def test_one_bad_message_of_a_producer_fails_nobody_else(bench: Bench) -> None:
    reported: list[int] = []
    messages: list[object] = [PriorityMessage("good", 20), None, PriorityMessage("x" * 10_000_000, 20)]
    options = {"flush_ms": 50, "on_error": lambda error, some: reported.append(len(some))}
    if hasattr(bench.q, "_target"):
        with Producer(bench.q._target, **options) as producer:
            for each in messages:
                producer.post("work", each)  # type: ignore[arg-type]
            future = producer.send("work", PriorityMessage("awaited", 20))
            bad = producer.send("work", "text")  # type: ignore[arg-type]
        assert future.result().merged is False
        assert isinstance(bad.exception(), InvalidMessage)
    else:
        async with AsyncProducer(bench.q, **options) as producer:
            for each in messages:
                await producer.post("work", each)  # type: ignore[arg-type]
            assert (await producer.send("work", PriorityMessage("awaited", 20))).merged is False
            with pytest.raises(InvalidMessage):
                await producer.send("work", "text")  # type: ignore[arg-type]
    assert reported == [1, 1]
    assert sorted(each.text for each in await bench.drain()) == ["awaited", "good", "known"]


def numbered(key: str, n: int) -> Call:
    """A call that notes its number, by one of seven scripts that no server has seen."""
    text = f"return redis.call('RPUSH', KEYS[1], ARGV[1]) -- {key} {n % 7}"
    return Call(Script("note", text, sha1(text.encode()).hexdigest()), [key], [n])


def replies_to(calls: Ordered) -> Operation[list[Any]]:
    return (yield calls)


@pytest.mark.parametrize("broken", [False, True])
async def test_ordered_calls_of_a_slot_never_overtake_each_other(bench: Bench, proxy: TcpProxy, broken: bool) -> None:
    """Of what is noted twice after a lost answer, all is noted twice, in order."""
    key = f"{bench.namespace}:noted"
    calls = Ordered(numbered(key, n) for n in range(250))
    if broken:
        proxy.drop_next_reply(b"EXEC")
    replies = await bench.q.run(replies_to(calls))
    noted = [int(each) for each in bench.raw.lrange(key, 0, -1)]
    bench.raw.delete(key)
    assert len(replies) == 250
    first = list(range(ATOMIC_MAX))
    assert noted == [*(first if broken else []), *range(250)]


async def test_ordered_calls_have_errors_of_their_own(bench: Bench) -> None:
    key = f"{bench.namespace}:noted"
    text = "return redis.error_reply('RMQFENCED 7')"
    wrong = Call(Script("wrong", text, sha1(text.encode()).hexdigest()), [key], [])
    replies = await bench.q.run(replies_to(Ordered([numbered(key, 0), wrong, numbered(key, 1)])))
    bench.raw.delete(key)
    assert (replies[0], type(replies[1]), replies[2]) == (1, Fenced, 2)


async def test_a_stream_has_one_batch_of_a_slot_under_way(bench: Bench, proxy: TcpProxy) -> None:
    """The second batch of a slot is not sent while nobody knows what became of the first."""
    proxy.drop_next_reply(b"EVALSHA")
    sent = await bench.q.send_many("work", [PriorityMessage(f"{n:05}", 20) for n in range(5_000)])
    assert sum(sent) == 5_000
    assert 0 < sent.unsure <= BATCH_MAX


async def test_what_was_answered_on_a_line_that_breaks_again_and_again_is_not_asked_again(
    bench: Bench, proxy: TcpProxy
) -> None:
    """So many calls as no line lives long enough for end all the same."""
    await bench.topic(name="wide", slots=1_024)
    messages = [PriorityMessage(str(n), 20) for n in range(2_000)]
    proxy.cut()
    proxy.break_after(2_500)
    if hasattr(bench.q, "_target"):
        sent = sum(await bench.q.send_many("wide", messages))
    else:
        sent = len(await asyncio.gather(*(bench.q.send("wide", each) for each in messages)))
    proxy.break_after(None)
    assert sent == 2_000
    assert len(await bench.drain("wide")) == 2_000
    await bench.control.delete_topic("wide", force=True)


async def test_a_script_that_a_server_forgot_goes_there_once(bench: Bench) -> None:
    """Its text is 44 kB, however many calls wait for it."""
    await bench.topic(name="wide", slots=128)
    bench.raw.script_flush()
    bench.raw.config_resetstat()
    if hasattr(bench.q, "_target"):
        await bench.q.send_many("wide", [PriorityMessage(str(n), 20) for n in range(1_000)])
    else:
        await asyncio.gather(*(bench.q.send("wide", PriorityMessage(str(n), 20)) for n in range(1_000)))
    assert bench.raw.info("commandstats")["cmdstat_eval"]["calls"] == 1
    assert len(await bench.drain("wide")) == 1_000
    await bench.control.delete_topic("wide", force=True)
