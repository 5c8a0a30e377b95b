"""Two worlds in one installation: topics of one's own, and others whose names nobody else may learn."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from console.engine import new_async_engine
from console.keeper.sampler import Sampler
from console.models import (
    Alert,
    AlertRule,
    AlertSilence,
    AuditEntry,
    Finding,
    HistoryProblem,
    MessageRecord,
    Operation,
    PipelineSchedule,
    Reconciliation,
    RecordPosition,
    RecurringMessage,
    SavedView,
    Screen,
    TopicScope,
)
from console.options import options
from console.outbox.models import OutboxMessage
from console.snapshots import store
from console.snapshots.groups import FLEET
from console.snapshots.store import LiveKeys
from console.usecases.definitions import revisions as topic_history
from rmq_core import Addressed, Route, TopicKind
from rmq_core.model.follow_ups import AFTER_HEADER
from tests.console.conftest import Queue

HIDDEN = "covert"
"""Begins the name of everything that is of another topic."""
MINE = "orders, events*"


@pytest.fixture
def worlds(queue: Queue, db: None) -> Queue:
    """Something of every kind, in a topic of one's own and in a hidden one."""
    for topic, stream in (("orders", "events"), (f"{HIDDEN}-orders", f"{HIDDEN}-events")):
        queue.topic(topic)
        queue.delayed("a", topic=topic)
        queue.dead("d", topic=topic)
        queue.topic(stream, TopicKind.STREAM, slots=1)
        queue.client.define_group(stream, "mail")
    # What follows messages of one's own goes to hidden topics, and what one has follows messages there.
    then = Addressed(f"{HIDDEN}-orders", f"{HIDDEN} content", in_ms=0)
    both = {"if_done": then, "if_dead": Addressed("orders", "b", in_ms=0, if_done=then)}
    queue.client.send("orders", "a", in_ms=3_600_000, headers={AFTER_HEADER: f"{HIDDEN}-orders 0 x"}, **both)
    queue.client.define_route(Route.from_mapping({"name": f"{HIDDEN}-r", "source": "orders",
                                                  "targets": [{"topic": f"{HIDDEN}-events"}]}))  # fmt: skip
    both_topics = ["orders", f"{HIDDEN}-orders"]
    queue.worker("w1", topics=both_topics, versions=dict.fromkeys(both_topics, 1), at_most_once=both_topics)
    queue.worker(f"{HIDDEN}-w", topics=[f"{HIDDEN}-orders"])
    _rows(queue.inspector.now_ms())
    topic_history.look(queue.inspector.topics(), queue.inspector.now_ms())
    asyncio.run(_sampled())
    return queue


def _rows(now: int) -> None:
    """Records of a hidden topic; those of one's own are made by what the tests do."""
    of, when = f"{HIDDEN}-orders", timezone.now()
    AuditEntry.objects.create(username="x", action="pause", topic=of, result="done")
    AuditEntry.objects.create(username="x", action="drain", query={"worker": f"{HIDDEN}-w"}, result="done")
    Operation.objects.create(action="requeue", topic=of, created=when - timedelta(minutes=1))
    run = Reconciliation.objects.create(topics=[of, "orders"], state="done", complete=True, finished=when)
    Reconciliation.objects.create(topics=[], state="done", tables=[{"topic": of}], complete=True, finished=when)
    Finding.objects.create(run=run, kind="lost", topic=of)
    PipelineSchedule.objects.create(topics=[of], every_ms=3_600_000)
    RecordPosition.objects.create(topic=of, slot=0, entry_id="1-0")
    recorded = {"topic": of, "slot": 0, "ident": b"a", "first_ms": now, "updated_ms": now}
    MessageRecord.objects.create(key=uuid.uuid4(), state="done", **recorded)
    rule = {"name": f"{HIDDEN}-n", "topic": of, "content": "x", "when": "in_ms", "value": 0, "every_ms": 60_000}
    RecurringMessage.objects.create(**rule)
    AlertRule.objects.create(name=f"{HIDDEN}-rule", problem="dead", topics=of)
    fired = {"state": "firing", "severity": "critical", "began_ms": now, "fired_ms": now, "seen_ms": now}
    Alert.objects.create(name=f"{HIDDEN}-alert", topic=of, open_key="1", **fired)
    Alert.objects.create(name=f"{HIDDEN}-both", topics=["orders", of], open_key="2", **fired)
    AlertSilence.objects.create(topics=of, from_ms=now, until_ms=now + 600_000, reason=f"{HIDDEN}")
    HistoryProblem.objects.create(topic=of, key="k", code="dead", severity="info", begun_ms=now, seen_ms=now, said=b"")
    Screen.objects.create(name=f"{HIDDEN}-wall", panels=f"figures {of}")
    seen = {"address": f"?q={HIDDEN}", "username": "x", "saved_ms": now}
    SavedView.objects.create(name=f"{HIDDEN}-all", **seen)
    SavedView.objects.create(name=f"{HIDDEN}-team", **seen, patterns=f"{HIDDEN}* orders")
    SavedView.objects.create(name=f"{HIDDEN}-topic", **seen, topic=of, patterns="orders")
    OutboxMessage.objects.create(topic=of, kind="fixed-time", value=now, content=b"x", lane=1, written_ms=now)


async def _sampled() -> None:
    """Two looks of the keeper, with somebody at every page: rates, problems, the fleet."""
    engine, keys = new_async_engine(), LiveKeys(options().namespace)
    for name in (FLEET, "orders", f"{HIDDEN}-orders"):
        await engine.client.run(store.watch(engine.client.keyspace, keys.watch, name))
    sampler = Sampler(engine, keys, interval_ms=1000, lag_warning_ms=10_000)
    await sampler.round()
    await sampler.round()
    await engine.client.close()


@pytest.fixture
def scoped(worlds: Queue, person: Callable[..., User]) -> User:
    """An administrator of some topics."""
    user = person("Admin")
    team = Group.objects.create(name="Team orders")
    TopicScope.objects.create(group=team, patterns=MINE)
    user.groups.add(team)
    return user


@pytest.fixture
def browser(scoped: User) -> Client:
    client = Client()
    client.force_login(scoped)
    return client


def text_of(answer: Any) -> str:
    """All that somebody is sent: the body, and the headers."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return body.decode() + repr(sorted(answer.headers.items()))
