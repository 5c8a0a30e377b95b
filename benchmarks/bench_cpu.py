"""What a message's whole life costs the server: CPU of sending, taking and settling, by kind, beside bare commands."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.harness import PrivateRedis, Report, alternate_many, at_most, repeats_for
from rmq_core import RMQ, FixedTimeMessage, PriorityMessage, RangeMergeMessage, Topic, TopicKind
from rmq_core.protocol.takes import Ack, cycle, read_cycle

SLOTS = 16
BATCH = 1_000
CONTENT = b"%016d"
DUE_WITHIN_S = 60.0
BARS_US = {
    TopicKind.RANGE_MERGE: (5.0, 4.0),
    TopicKind.PRIORITY: (6.0, 5.0),
    TopicKind.FIXED_TIME: (7.5, 6.0),
}
"""For a message's whole life, on Redis 7.0 and on Valkey."""
STEPS = ("send", "take", "ack", "whole life")


def main(quick: bool) -> None:
    count = 48_000 if quick else 480_000
    with PrivateRedis() as server, RMQ(server.url) as rmq:
        client = rmq.connection.client

        def spent_us(act: Callable[[], object]) -> float:
            """CPU of the server, per message."""
            before = _cpu_s(client)
            act()
            return (_cpu_s(client) - before) * 1e6 / count

        def life(kind: TopicKind) -> Mapping[str, float]:
            client.flushdb()
            topic = rmq.define(Topic("bench", kind, slots=SLOTS))
            now_ms = round(time.time() * 1000)
            messages = [_message(kind, i, now_ms) for i in range(count)]
            figures = {"send": spent_us(lambda: rmq.send_many("bench", messages, allow_past=True))}
            _wait_until_due(client, now_ms + 1_000)
            acks: list[tuple[int, list[Ack]]] = []
            figures["take"] = spent_us(lambda: acks.extend(_take_all(rmq, topic, count)))
            figures["ack"] = spent_us(lambda: _settle(rmq, topic, acks))
            return figures | {"whole life": sum(figures.values())}

        def bare() -> Mapping[str, float]:
            client.flushdb()
            ids = [CONTENT % i for i in range(count)]
            return {"whole life": spent_us(lambda: _bare_life(client, ids))}

        subjects: dict[str, Callable[[], Mapping[str, float]]] = {"bare commands": bare}
        for kind in BARS_US:
            subjects[kind.value] = functools.partial(life, kind)
        measured = alternate_many(subjects, repeats_for(quick))
        expects = [f"{kind.value}: {step}" for kind in BARS_US for step in STEPS]
        report = Report("cpu", quick, server, expects, {"messages": count, "slots": SLOTS, "batch": BATCH})
        for kind, bars in BARS_US.items():
            for step in STEPS:
                bar = at_most(bars[server.is_valkey]) if step == STEPS[-1] else None
                report.add(step, measured[kind.value][step], "µs", subject=kind.value, bar=bar)
        report.add("whole life", measured["bare commands"]["whole life"], "µs", subject="bare commands")
        report.finish()


def _cpu_s(client: Any) -> float:
    info = client.info("cpu")
    return float(info["used_cpu_user"] + info["used_cpu_sys"])


def _message(kind: TopicKind, i: int, now_ms: int) -> Any:
    content = CONTENT % i
    if kind is TopicKind.PRIORITY:
        return PriorityMessage(content, 17 + i % 100)
    if kind is TopicKind.RANGE_MERGE:
        return RangeMergeMessage(content, 1)
    return FixedTimeMessage(content, now_ms - i % 100_000)


def _wait_until_due(client: Any, at_ms: int) -> None:
    deadline = time.monotonic() + DUE_WITHIN_S
    while client.time()[0] * 1000 < at_ms:
        if time.monotonic() > deadline:
            raise RuntimeError("the server's clock stands still")
        time.sleep(0.05)


def _take_all(rmq: RMQ, topic: Topic, count: int) -> list[tuple[int, list[Ack]]]:
    taken: list[tuple[int, list[Ack]]] = []
    left = count
    while left:
        before = left
        for slot in range(SLOTS):
            (reply,) = rmq.connection.run([cycle(rmq.keyspace, topic, slot, BATCH)])
            found = read_cycle(topic, slot, reply).deliveries
            taken.append((slot, [Ack(delivery.raw_id, delivery.receipt) for delivery in found]))
            left -= len(found)
        if left == before:
            raise RuntimeError(f"{left} of {count} messages cannot be taken")
    return taken


def _settle(rmq: RMQ, topic: Topic, acks: list[tuple[int, list[Ack]]]) -> None:
    for slot, batch in acks:
        rmq.connection.run([cycle(rmq.keyspace, topic, slot, 0, acks=batch)])


def _bare_life(client: Any, ids: list[bytes]) -> None:
    """The least that a queue in two phases does: into one sorted set, from there to another, out of that."""
    for start in range(0, len(ids), BATCH):
        client.zadd(f"store{start // BATCH % SLOTS}", dict.fromkeys(ids[start : start + BATCH], start))
    for slot in range(SLOTS):
        while found := client.zpopmin(f"store{slot}", BATCH):
            client.zadd("prepare", dict(found))
            client.zrem("prepare", *(each for each, _ in found))
