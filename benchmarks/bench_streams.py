"""Streams and a group of them: sending in batches, consuming, the server's CPU near the start and deep in the stream,
memory per entry beside bare XADD, sampling a hundred groups."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchmarks.consuming import drain_seconds
from benchmarks.harness import PrivateRedis, Report, Series, alternate, alternate_many, at_least, at_most, repeats_for
from rmq_core import RMQ, Inspector, Listener, StreamMessage, Topic, TopicKind
from rmq_core.protocol.takes import Ack, cycle, read_cycle

SLOTS = 16
BATCH = 1_000
CONTENT = b"%032d"
GROUP = "bench@statistics"
GROUPS = 100
PARTS = 4
"""Of a stream that is worked off: the first and the last are compared."""


def main(quick: bool) -> None:
    count = 64_000 if quick else 640_000
    with PrivateRedis() as server, RMQ(server.url) as rmq:
        names = ["send in batches", "consume, plain listener, per entry", "of bare XADD", "sampling 100 groups"]
        steps = ("send", "take, first quarter", "take, last quarter", "ack, first quarter", "ack, last quarter")
        settings = {"entries": count, "slots": SLOTS, "batch": BATCH, "content_bytes": 32}
        report = Report("streams", quick, server, [*names, *steps, "take: last of first quarter"], settings)
        series = alternate(
            {"send": lambda: _send_rate(rmq, count), "consume": lambda: _consume_rate(rmq, server.url, count)},
            repeats_for(quick),
        )
        report.add(names[0], series["send"], "/s", bar=at_least(300_000))
        report.add(names[1], series["consume"], "/s", bar=at_least(120_000))
        costs = alternate_many({"cpu": functools.partial(_costs, rmq, count)}, repeats_for(quick))["cpu"]
        for step in steps:
            report.add(step, costs[step], "µs of the server per entry")
        report.compare("take: last of first quarter", costs[steps[2]], costs[steps[1]], bar=at_most(1.1))
        memory = alternate(
            {"ours": lambda: _memory(rmq, count, _send_all), "bare": lambda: _memory(rmq, count, _add_bare)},
            repeats_for(quick),
        )
        report.add("memory, bare XADD", memory["bare"], "bytes")
        report.compare(names[2], memory["ours"], memory["bare"], bar=at_most(1.15))
        sampled = Series(tuple(_sampling(rmq, 5.0 if quick else 20.0) for _ in range(repeats_for(quick))))
        report.add(names[3], sampled, "% of a core", bar=at_most(3), note="every second, 1,000 entries/s sent")
        report.finish()


def _define(rmq: RMQ, slots: int = SLOTS) -> None:
    rmq.connection.client.flushdb()
    rmq.define(Topic("bench", TopicKind.STREAM, slots=slots))


def _contents(count: int) -> Iterator[bytes]:
    return (CONTENT % i for i in range(count))


def _send_rate(rmq: RMQ, count: int) -> float:
    _define(rmq)
    began = time.perf_counter()
    rmq.send_many("bench", _contents(count))
    return count / (time.perf_counter() - began)


def _consume_rate(rmq: RMQ, url: str, count: int) -> float:
    _define(rmq)
    rmq.define_group("bench", "statistics")
    rmq.send_many("bench", _contents(count))
    handled = 0

    def one(_: Any) -> None:
        nonlocal handled
        handled += 1

    return count / drain_seconds(url, Listener("bench", one, group="statistics"), count, lambda: handled)


def _costs(rmq: RMQ, count: int) -> Mapping[str, float]:
    """CPU of the server per entry, by step."""
    client = rmq.connection.client
    _define(rmq)
    group = rmq.define_group("bench", "statistics", visibility_timeout_ms=3_600_000)
    spent = _Spent(client)
    rmq.send_many("bench", _contents(count))
    found = {"send": spent.us(count)}
    rounds = count // PARTS // SLOTS // BATCH
    for part in range(PARTS):
        spent = _Spent(client)
        taken = list(_take(rmq, group, rounds))
        entries = sum(len(acks) for _, acks in taken)
        take_us = spent.us(entries)
        spent = _Spent(client)
        _ack(rmq, group, taken)
        name = {0: "first quarter", PARTS - 1: "last quarter"}.get(part)
        if name:
            found |= {f"take, {name}": take_us, f"ack, {name}": spent.us(entries)}
    return found


class _Spent:
    """CPU of the server since then."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._before = _cpu_s(client)

    def us(self, entries: int) -> float:
        """Per entry."""
        return (_cpu_s(self._client) - self._before) * 1e6 / entries


def _cpu_s(client: Any) -> float:
    info = client.info("cpu")
    return float(info["used_cpu_user"] + info["used_cpu_sys"])


def _take(rmq: RMQ, group: Topic, rounds: int) -> Iterator[tuple[int, list[Ack]]]:
    for slot in list(range(SLOTS)) * rounds:
        (reply,) = rmq.connection.run([cycle(rmq.keyspace, group, slot, BATCH)])
        found = read_cycle(group, slot, reply).deliveries
        yield slot, [Ack(delivery.raw_id, delivery.receipt) for delivery in found]


def _ack(rmq: RMQ, group: Topic, acks: list[tuple[int, list[Ack]]]) -> None:
    for slot, batch in acks:
        rmq.connection.run([cycle(rmq.keyspace, group, slot, 0, acks=batch)])


def _memory(rmq: RMQ, count: int, add: Callable[[RMQ, int], None]) -> float:
    _define(rmq)
    rmq.topic("bench")
    before = rmq.connection.client.info("memory")["used_memory"]
    add(rmq, count)
    return float(rmq.connection.client.info("memory")["used_memory"] - before) / count


def _send_all(rmq: RMQ, count: int) -> None:
    rmq.send_many("bench", _contents(count))


def _add_bare(rmq: RMQ, count: int) -> None:
    """As somebody adds who knows nothing of us: one field, its name as short as ours."""
    for first in range(0, count, BATCH):
        pipe = rmq.connection.client.pipeline(transaction=False)
        for i in range(first, min(first + BATCH, count)):
            pipe.xadd(f"bare{i % SLOTS}", {b"v": CONTENT % i})
        pipe.execute()


def _sampling(rmq: RMQ, for_s: float) -> float:
    """Percent of a core that the server needs more for one who samples each second."""
    _define(rmq, slots=4)
    for number in range(GROUPS):
        rmq.define_group("bench", f"group-{number:03}")
    inspector, client = Inspector(rmq), rmq.connection.client

    def percent(sampled: bool) -> float:
        before, began = _cpu_s(client), time.perf_counter()
        while (passed := time.perf_counter() - began) < for_s:
            rmq.send_many("bench", [StreamMessage(CONTENT % n) for n in range(1_000)])
            if sampled:
                inspector.sample(groups=True)
            time.sleep(max(0.0, passed // 1 + 1 - (time.perf_counter() - began)))
        return 100 * (_cpu_s(client) - before) / (time.perf_counter() - began)

    without = percent(False)
    return max(0.0, percent(True) - without)
