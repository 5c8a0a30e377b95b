"""Groups beside trouble: claims at the moment of an ack, trimming beside slow groups, a server that is killed."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rmq_core import RMQ, Control, Delivery, Inspector, Topic
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.group import Group
from tests.engine.ledgers import assert_ledger_balances
from tests.support.waiting import wait_until

SLOTS = 2


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    with RMQ(redis_server.url, namespace) as client:
        yield client
        with redis_server.client() as raw:
            assert_ledger_balances(raw, namespace)
        Control(client).delete_topic("events", force=True)


def finished(rmq: RMQ, group: Group, acked: int) -> bool:
    (sample,) = Inspector(rmq).sample([group.name])
    return sample.counters.acked == acked


def test_a_claim_at_the_moment_of_an_ack_settles_each_entry_once(rmq: RMQ) -> None:
    rmq.define(Topic("events", "stream", slots=SLOTS))
    group = rmq.define_group("events", "g")
    rmq.send_many("events", [str(n) for n in range(600)])
    done: Counter[str] = Counter()
    stop = threading.Event()

    def member(name: str) -> None:
        while not stop.is_set():
            taken = rmq.take(group, 7, member=name, timeout_ms=50)
            for delivery, status in zip(taken, rmq.ack(taken), strict=True):
                if status == "done":
                    done[delivery.text] += 1

    def claims() -> None:
        while not stop.is_set():
            Control(rmq).claim(group, random.choice("ab"))

    threads = [threading.Thread(target=member, args=(name,)) for name in "ab"] + [threading.Thread(target=claims)]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: finished(rmq, group, 600), what="all of them")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert done == dict.fromkeys([str(n) for n in range(600)], 1)


def test_trimming_beside_groups_of_every_pace(rmq: RMQ) -> None:
    """What is bounded to 40 entries holds as many as the slowest durable group needs, and no more."""
    rmq.define(Topic("events", "stream", slots=SLOTS, max_length=40, trim="exact", max_retries=1))
    chance, inspector = random.Random(7), Inspector(rmq)
    groups = {
        "slow": rmq.define_group("events", "slow", backoff_ms=0),
        "fast": rmq.define_group("events", "fast"),
        "loose": rmq.define_group("events", "loose", durable=False),
    }
    seen: dict[str, Counter[str]] = {name: Counter() for name in groups}
    held: list[Delivery] = []
    sent = 0
    for _ in range(150):
        n = chance.randint(0, 12)
        rmq.send_many("events", [str(sent + i) for i in range(n)])
        sent += n
        for name, most in (("slow", 4), ("fast", 50), ("loose", 1)):
            taken = rmq.take(groups[name], most, member=name)
            seen[name].update(each.text for each in taken)
            if name != "slow":
                rmq.ack(taken)
                continue
            held += taken
            some = [held.pop(chance.randrange(len(held))) for _ in range(min(len(held), chance.randint(0, 5)))]
            rmq.nack([each for each in some if each.attempt == 1 and int(each.text) % 9 == 0])
            rmq.ack([each for each in some if not (each.attempt == 1 and int(each.text) % 9 == 0)])
        for sample in inspector.sample(["events@slow", "events@fast"]):
            assert sample.missed == 0
            assert sample.lag is not None
    rmq.ack(held)
    for name, group in groups.items():
        while taken := rmq.take(group, 500):
            seen[name].update(each.text for each in taken)
            rmq.ack(taken)
    everything = {str(n) for n in range(sent)}
    assert seen["slow"].keys() == seen["fast"].keys() == everything
    assert all(n <= (2 if int(text) % 9 == 0 else 1) for text, n in seen["slow"].items())
    samples = {sample.topic.name: sample for sample in inspector.sample(groups=True)}
    assert samples["events@loose"].missed == sent - len(seen["loose"]) > 0
    assert [sample.lag for name, sample in samples.items() if name != "events"] == [0, 0, 0]
    Control(rmq).trim("events")
    assert inspector.sample(["events"])[0].length <= 40


def test_a_server_that_is_killed_loses_nothing_of_a_group(tmp_path: Path) -> None:
    with (
        # Said at the start: each start goes by what it was started with, and with everysec a busy disk loses seconds.
        EmbeddedRedis(tmp_path / "redis", appendonly=True, config={"appendfsync": "always"}) as server,
        RMQ(server.url, "killed", retry_for_ms=60_000) as rmq,
    ):
        rmq.define(Topic("events", "stream", slots=SLOTS))
        group = rmq.define_group("events", "g", visibility_timeout_ms=500)
        accepted: list[str] = []
        seen: Counter[str] = Counter()
        sent, stop = threading.Event(), threading.Event()

        def send() -> None:
            while not sent.is_set():
                text = str(len(accepted))
                rmq.send("events", text)
                accepted.append(text)
                time.sleep(0.001)

        def work() -> None:
            while not stop.is_set():
                taken = rmq.take(group, 5, timeout_ms=50)
                seen.update(each.text for each in taken)
                rmq.ack(taken)

        sender, worker = threading.Thread(target=send), threading.Thread(target=work)
        sender.start()
        worker.start()
        try:
            for _ in range(2):
                before = len(accepted)
                wait_until(lambda before=before: len(accepted) > before + 50, what="work")  # type: ignore[misc]
                server.restart(kill=True)
            sent.set()
            sender.join()  # what it was sending when the server was killed is accepted late
            wait_until(lambda: finished(rmq, group, len(accepted)), what="all that was accepted")
        finally:
            sent.set()
            stop.set()
            sender.join()
            worker.join()
        assert seen.keys() == set(accepted)
        with server.client() as raw:
            assert_ledger_balances(raw, "killed")
