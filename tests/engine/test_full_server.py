"""A server at its maxmemory: sending is refused, and everything that leads out of it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rmq_core import (
    RMQ,
    Control,
    FixedTimeMessage,
    Inspector,
    PriorityMessage,
    RangeMergeMessage,
    Topic,
    TopicKind,
    errors,
)
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.topic import QUEUE_KINDS
from tests.engine.ledgers import assert_ledger_balances
from tests.support.servers import SERVER_KINDS, server_of


@pytest.fixture(params=SERVER_KINDS)
def full(request: pytest.FixtureRequest) -> Iterator[RMQ]:
    """A queue of its own server; call ``config_set('maxmemory', 1)`` when it holds what the test needs."""
    with (
        EmbeddedRedis(executable=server_of(request.param)) as server,
        RMQ(server.url, "full") as rmq,
        server.client() as raw,
    ):
        yield rmq
        raw.config_set("maxmemory", 0)
        assert_ledger_balances(raw, "full")


def fill_up(rmq: RMQ) -> None:
    rmq.connection.client.config_set("maxmemory", 1)
    with pytest.raises(errors.ServerFull):
        rmq.send("work", PriorityMessage("one too many", 20))


@pytest.mark.parametrize("limits", [{}, {"rate_limit": 1_000_000}, {"max_backlog": 100}])
def test_consumers_and_operators_go_on(full: RMQ, limits: dict[str, int]) -> None:
    full.define(Topic("work", TopicKind.PRIORITY, slots=1, max_retries=0, backoff_ms=0, **limits))
    control, inspector = Control(full), Inspector(full)
    full.send_many("work", [PriorityMessage(f"m{i}", 20, key=f"m{i}") for i in range(8)])
    dead = full.take("work", 2)
    full.reject(dead)
    fill_up(full)
    taken = full.take("work", 2)
    assert full.note(taken[0], progress=0.5, log="goes on") == "done"  # else nothing with a result were acknowledged
    assert full.ack(taken[0]) == ["done"]
    assert full.nack(taken[1]) == ["done"]
    (waiting, *_) = inspector.messages("work", "ready").rows
    assert [r.status for r in control.cancel("work", [waiting.ref])] == ["done"]
    assert [r.status for r in control.drop("work", [dead[0].ref])] == ["done"]
    assert [r.status for r in control.requeue("work", [dead[1].ref])] == ["done"]
    assert [r.status for r in control.restore("work", [waiting.ref, dead[0].ref])] == ["done", "done"]
    assert sum(each.count for each in inspector.dead_clusters("work")) == 2
    with pytest.raises(errors.ServerFull):
        full.send("work", PriorityMessage("m9", 20))


@pytest.mark.parametrize("slots", [1, 4])
def test_permits_are_given_all_the_same(full: RMQ, slots: int) -> None:
    full.define(Topic("work", TopicKind.PRIORITY, slots=slots, concurrency=3))
    full.send_many("work", [PriorityMessage(f"m{i}", 20) for i in range(40)])
    fill_up(full)
    done = 0
    while done < 40:
        taken = full.take("work", 5, timeout_ms=10_000)
        assert 1 <= len(taken) <= 3
        done += len(full.ack(taken))


@pytest.mark.parametrize("kind", QUEUE_KINDS)
def test_what_finds_nothing_or_only_looks_is_not_refused(full: RMQ, kind: TopicKind) -> None:
    """Their first write would add: a hint, a timestamp, a position."""
    full.define(Topic("work", kind, slots=4, backoff_ms=0, visibility_timeout_ms=60_000, journal="events"))
    control, now_ms = Control(full), Inspector(full).now_ms()
    later = {
        TopicKind.PRIORITY: PriorityMessage("m", 20, key="later"),
        TopicKind.FIXED_TIME: FixedTimeMessage("m", now_ms + 600_000, key="later"),
        TopicKind.RANGE_MERGE: RangeMergeMessage("m", 600_000, key="later"),
    }[kind]
    full.send("work", later)
    if kind is TopicKind.PRIORITY:
        (taken,) = full.take("work")
        full.nack(taken, delay_ms=600_000)
    hints = full.keyspace.hints("work")
    full.connection.client.config_set("maxmemory", 1)
    for _ in range(2):
        full.connection.client.delete(*hints)
        assert full.take("work", 10) == []
    assert [each.status for each in control.run_now("work", "later")] == ["done"]
    (taken,) = full.take("work", 10)
    assert full.release(taken) == ["done"]
    reading = full.journal("work", "archive")
    assert reading.read().transitions
    reading.commit()
    control.pause("work")
    control.resume("work")
    assert [each.status for each in control.cancel("work", "later")] == ["done"]
    control.delete_topic("work")


@pytest.mark.parametrize("full", SERVER_KINDS[:1], indirect=True)
@pytest.mark.parametrize("settings", [{}, {"waits": True}, {"acks": "none"}])
def test_groups_go_on_so_that_streams_are_trimmed(full: RMQ, settings: dict[str, Any]) -> None:
    full.define(Topic("work", TopicKind.PRIORITY, slots=1))
    full.define(Topic("events", TopicKind.STREAM, slots=1, max_length=5, trim="exact", journal="events"))
    group, control = full.define_group("events", "all", **settings), Control(full)
    full.send_many("events", [f"m{i}" for i in range(20)])
    fill_up(full)
    assert len(taken := full.take(group, 10, member="ann")) == 10
    if not settings.get("acks"):
        assert full.ack(taken[:9]) == ["done"] * 9 and full.reject(taken[9:]) == ["done"]
        assert [each.status for each in control.drop(group.name, [taken[9].ref])] == ["done"]
    assert control.trim("events") == 10, "what the group has not finished is kept"
    assert control.pause(group.name).paused and not control.resume(group.name).paused
    assert control.change_group(group.name, max_retries=3).max_retries == 3
    (moved,) = control.set_position(group.name, "end")
    assert (moved.lag_before, moved.lag) == (10, 0)
    assert control.trim("events") == 5
