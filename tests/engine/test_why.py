"""Why something is late: each cause is caused, and the answer names it with its evidence. Without workers here."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from rmq_core import (
    RMQ,
    Control,
    FixedTimeMessage,
    Inspector,
    PriorityMessage,
    Route,
    StreamMessage,
    Topic,
    TopicKind,
)
from rmq_core.cli.main import main
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.protocol.slot_calls import reap
from rmq_core.why import judging
from rmq_core.why.answer import Reason, Why
from rmq_core.why.facts import Pace
from rmq_core.why.sentences import SENTENCES
from tests.engine.clock import ClockedRedis
from tests.support.proxy import TcpProxy
from tests.support.waiting import wait_until

FAR_MS = 3_600_000


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    with RMQ(redis_server.url, namespace) as client:
        yield client
        for topic in Inspector(client).topics():
            Control(client).delete_topic(topic.name, force=True)


def define(rmq: RMQ, kind: TopicKind = TopicKind.PRIORITY, **options: object) -> Topic:
    return rmq.define(Topic("work", kind, **({"slots": 1, "backoff_ms": FAR_MS, "backoff_max_ms": FAR_MS} | options)))


def send(rmq: RMQ, *contents: str, priority: int = 20) -> None:
    rmq.send_many("work", [PriorityMessage(content, priority) for content in contents])


def why(rmq: RMQ, ident: str | None = None, topic: str = "work", **options: object) -> Why:
    return Inspector(rmq).why(topic, ident, **options)


def codes(answer: Why) -> list[str]:
    return [reason.code for reason in answer.reasons]


def test_a_route_that_takes_from_it_is_what_keeps_it(rmq: RMQ) -> None:
    define(rmq)
    rmq.define(Topic("events", "stream", slots=1))
    rmq.define_route(Route("out", "work", ("events",)))
    send(rmq, "a")
    assert codes(why(rmq)) == ["route_idle"]
    Control(rmq).pause_route("out")
    (reason,) = why(rmq).reasons
    assert reason.text == "The route out takes from it, and is paused; 1 ready."
    Control(rmq).delete_route("out")


def test_every_sentence_can_be_said() -> None:
    values = {
        "left_ms": 1,
        "before_ms": 1,
        "for_ms": 200_000,
        "silent_ms": 9_000_000,
        "over_ms": 5,
        "answer_ms": 1_500,
        "worker": "w",
    }
    values |= dict.fromkeys(
        ("ready", "slots", "limit", "in_flight", "threads", "version", "current", "slot", "known", "priority"), 1_000
    )
    values |= dict.fromkeys(("retrying", "suspects", "failures", "before", "higher", "others", "keys"), 2)
    values |= {"held": 2, "holds": 1, "hold": "0-1", "route": "r", "id": "m", "error": "E", "in_s": 1.5, "out_s": 0.5}
    for code in SENTENCES:
        text = Reason(code, values).text
        assert text.endswith(".") and "{" not in text
    assert Reason("busy", values).without("id").text.startswith("Slot 1,000 is busy with (hidden), in flight for 3 m")


def test_sentences_follow_their_numbers() -> None:
    assert Reason("behind", {"before": 1}).text == "1 message of its slot comes before it."
    assert Reason("behind", {"before": 2}).text == "2 messages of its slot come before it."
    assert Reason("ahead", {"before": 9, "capped": True}).text.endswith("9 entries of its slot or more come before it.")


def test_nobody_listens_and_it_is_paused(rmq: RMQ) -> None:
    define(rmq)
    assert codes(why(rmq)) == ["nothing_ready"]
    send(rmq, "a", "b")
    answer = why(rmq)
    assert answer.text == "No worker listens to it; 2 ready."
    Control(rmq).pause("work")
    assert codes(why(rmq)) == ["paused", "no_worker"]
    assert codes(why(rmq, "a"))[0] == "paused"


def test_what_is_not_due(rmq: RMQ) -> None:
    define(rmq, TopicKind.FIXED_TIME)
    due_ms = Inspector(rmq).now_ms() + FAR_MS
    rmq.send("work", FixedTimeMessage("a", due_ms))
    (reason,) = why(rmq, "a").reasons
    assert (reason.code, reason.values["due_ms"]) == ("not_due", due_ms)
    assert 0 < reason.values["left_ms"] <= FAR_MS
    assert codes(why(rmq)) == ["due_later"]


def test_what_is_in_flight_and_then_overdue(rmq: RMQ) -> None:
    define(rmq, visibility_timeout_ms=1_500)
    send(rmq, "a")
    assert rmq.take("work")
    (reason,) = why(rmq, "a").reasons
    assert reason.code == "in_flight" and 0 < reason.values["left_ms"] <= 1_500
    send(rmq, "a")
    assert codes(why(rmq, "a")) == ["behind_itself"]
    wait_until(lambda: "overdue" in codes(why(rmq)), what="its time to be over")
    assert codes(why(rmq, "a"))[0] == "overdue"
    assert codes(why(rmq))[:2] == ["no_worker", "overdue"]
    (overdue,) = [reason for reason in why(rmq, slot=0).reasons if reason.code == "overdue"]
    assert overdue.values["id"] == "a" and overdue.values["over_ms"] > 0


def test_what_failed_and_what_died(rmq: RMQ) -> None:
    define(rmq, max_retries=1)
    send(rmq, "a", "b")
    rmq.nack(rmq.take("work"), error="ValueError", message="bad")
    rmq.nack(rmq.take("work"), delay_ms=0)
    rmq.nack(rmq.take("work"))
    (reason,) = why(rmq, "a").reasons
    assert reason.code == "backing_off"
    assert (reason.values["failures"], reason.values["error"]) == (1, "ValueError")
    assert reason.values["left_ms"] > FAR_MS - 60_000
    assert codes(why(rmq, "b")) == ["dead"]


def test_a_retry_that_is_due_waits_for_whoever_takes(rmq: RMQ) -> None:
    define(rmq, backoff_ms=0)
    send(rmq, "a")
    (delivery,) = rmq.take("work")
    rmq.nack(delivery, delay_ms=20)
    wait_until(lambda: "no_worker" in codes(why(rmq, "a")), what="its retry to be due")
    assert why(rmq).text == "No worker listens to it; 1 ready."


def test_what_is_late_for_good(rmq: RMQ) -> None:
    define(rmq)
    rmq.send("work", "a", priority=20, expires_ms=1)
    wait_until(lambda: codes(why(rmq, "a")) == ["expired"], what="it to expire")


def test_what_comes_before_it(rmq: RMQ) -> None:
    define(rmq, backoff_ms=0, backoff_max_ms=0)
    send(rmq, "low", "lower")
    (delivery,) = rmq.take("work")
    rmq.nack(delivery, error="Once")
    send(rmq, *(f"m{n}" for n in range(5)), priority=30)
    (higher,) = [reason for reason in why(rmq, "lower").reasons if reason.code == "higher_first"]
    assert higher.values["before"] == higher.values["higher"] == 5
    (same,) = [reason for reason in why(rmq, "m3").reasons if reason.code == "behind"]
    assert same.values == {"before": 3}
    (fresh,) = [reason for reason in why(rmq, "low").reasons if reason.code == "fresh_first"]
    assert (fresh.values["before"], fresh.values["failures"]) == (6, 1)


def test_what_must_run_alone(rmq: RMQ) -> None:
    topic = define(rmq, visibility_timeout_ms=100)
    send(rmq, "a", "b", "c")
    assert len(rmq.take("work", 3)) == 3
    wait_until(lambda: "overdue" in codes(why(rmq)), what="their time to be over")
    rmq.connection.run([reap(rmq.keyspace, topic, 0)])
    (reason,) = [reason for reason in why(rmq).reasons if reason.code == "suspects"]
    assert reason.values["suspects"] == 3
    assert "suspect" in codes(why(rmq, "b"))


def test_a_rate_limit(rmq: RMQ) -> None:
    define(rmq, rate_limit=1)
    send(rmq, *"abcdef")
    assert rmq.take("work")
    rmq.take("work", 5)
    (reason,) = [reason for reason in _with_a_worker(rmq).reasons if reason.code == "rate_limited"]
    assert (reason.values["limit"], reason.values["left_ms"]) == (1, reason.values["ready"] * 1000)


def _with_a_worker(rmq: RMQ) -> Why:
    """As if one listened: its report is enough."""
    about = {"host": "h", "pid": 1, "topics": ["work"], "started_ms": 0, "threads": 4, "in_flight": 0, "done": 0}
    about |= {"failed": 0, "done_per_s": 0, "stuck": 0, "version": "0", "state": "running", "stale": 0}
    about |= {"session": "shared", "session_for_ms": 0, "weight": 1, "slots": {"work": "0"}}
    about |= {"seen_ms": Inspector(rmq).now_ms(), "versions": {"work": 0}}
    raw = rmq.connection.client
    raw.hset(rmq.keyspace.workers, "w", json.dumps(about))
    try:
        return why(rmq)
    finally:
        raw.delete(rmq.keyspace.workers)


def test_a_worker_that_goes_by_an_older_definition(rmq: RMQ) -> None:
    define(rmq)
    send(rmq, "a")
    (reason,) = _with_a_worker(rmq).reasons
    assert reason.text == "The worker w still goes by version 0 of the definition, not by 1."


def test_the_pace(rmq: RMQ) -> None:
    define(rmq, slots=2)
    send(rmq, *(f"m{n}" for n in range(20)))
    assert codes(why(rmq, slot=0, pace=Pace(1.0, 4.0))) == ["on_its_way"]  # that is the topic's
    behind = why(rmq, pace=Pace(5.0, 4.0))  # somebody takes, though no worker reports
    assert behind.text == "More comes in than is done: 5.0 a second against 4.0; 20 ready."
    assert why(rmq, pace=Pace(0.0, 4.0)).text == "20 are ready and 4.0 a second are done: that takes 5 s."
    assert codes(why(rmq, pace=Pace(0.0, 0.0))) == ["no_worker"]


def test_a_call_or_a_hold_does_not_explain_that_more_comes_in(rmq: RMQ, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "BUSY_MS", 0)
    define(rmq, slots=2)
    send(rmq, *(f"m{n}" for n in range(20)))
    assert rmq.take("work")
    assert codes(why(rmq, pace=Pace(5.0, 4.0))) == ["falls_behind", "busy"]
    assert codes(why(rmq, pace=Pace(1.0, 4.0))) == ["busy", "draining"]
    Control(rmq).hold("work", id="m19")
    assert codes(why(rmq, pace=Pace(5.0, 4.0))) == ["falls_behind", "busy", "holds_back"]


def test_what_is_gone_and_what_can_come_back(rmq: RMQ) -> None:
    define(rmq)
    send(rmq, "a")
    assert codes(why(rmq, "b")) == ["gone"]
    Control(rmq).cancel("work", ["a"])
    assert codes(why(rmq, "a")) == ["removed"]


def test_a_server_that_is_slow(rmq: RMQ, redis_server: EmbeddedRedis, namespace: str) -> None:
    define(rmq)
    with TcpProxy(redis_server.port) as proxy, RMQ(proxy.url(redis_server.url), namespace) as slow:
        slow.topic("work")
        proxy.delay(120)
        answer = why(slow)
    assert codes(answer) == ["redis_slow"] and answer.reasons[0].values["answer_ms"] >= 120


def test_a_clock_that_is_behind_ours(redis_server: EmbeddedRedis, namespace: str) -> None:
    clock = ClockedRedis.open(redis_server.url)
    with RMQ(namespace=namespace, client=clock) as rmq:
        define(rmq, TopicKind.FIXED_TIME)
        rmq.send("work", FixedTimeMessage("a", clock.now_ms + FAR_MS))  # long ago by our clock
        answer = why(rmq, "a")
        assert codes(answer) == ["clock", "not_due"] and answer.reasons[0].values["for_ms"] > FAR_MS
        Control(rmq).delete_topic("work", force=True)
    clock.forget()
    clock.close()


def test_a_group_of_a_stream(rmq: RMQ) -> None:
    rmq.define(Topic("work", TopicKind.STREAM, slots=1))
    rmq.define_group("work", "g", start="start", waits=True, backoff_ms=FAR_MS, backoff_max_ms=FAR_MS)
    sent = [rmq.send("work", StreamMessage(f"{n}")) for n in range(5)]
    last = sent[-1].id
    answer = why(rmq, last, "work@g")
    assert codes(answer) == ["no_worker", "ahead"] and answer.late_ms is not None
    assert answer.reasons[1].values["before"] == 4
    first, second = rmq.take("work@g"), rmq.take("work@g")
    rmq.ack(first)
    assert codes(why(rmq, sent[0].id, "work@g")) == ["finished"]
    assert not second  # it keeps the order
    (delivery,) = rmq.take("work@g")
    rmq.nack(delivery, error="Bad")
    behind = why(rmq, last, "work@g")
    assert "behind_failure" in codes(behind)
    Control(rmq).pause("work@g", Inspector(rmq).now_ms() + FAR_MS)
    assert codes(why(rmq, topic="work@g"))[0] == "paused_until"


def test_the_command_says_it(
    rmq: RMQ, redis_server: EmbeddedRedis, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    define(rmq)
    send(rmq, "a", "b")
    where = ["--url", redis_server.url, "--namespace", namespace]
    assert main(["why", "work", "--for-ms", "10", *where]) == 0
    assert capsys.readouterr().out == "No worker listens to it; 2 ready.\n"
    assert main(["why", "work", "b", "--json", *where]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [reason["code"] for reason in found["reasons"]] == ["no_worker", "behind"]
    assert found["reasons"][0]["text"] == "No worker listens to it; 2 ready."
    assert main(["why", "work", "--slot-basis", "b", *where]) == 2
