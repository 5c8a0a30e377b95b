"""Topics with nothing in their journals beside an archive: nothing is missing of what was never written; and a busy
machine, which fails the reconciliation once in the middle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, Control, PriorityMessage, Route, Target, Topic, TopicKind
from rmq_core.pipeline import sentences
from rmq_core.pipeline.jobs import reconcile as reconciling
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.routes.forwarding import Forwarder
from tests.pipeline.busy_machine import fails_once, late


def test_what_was_never_written_is_no_gap(
    spark: Any, client: RMQ, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "archive")
    client.define(Topic("work", TopicKind.PRIORITY, slots=2, journal="full"))
    client.define(Topic("quiet", TopicKind.PRIORITY, slots=2, journal="full"))
    client.define(Topic("unrecorded", TopicKind.PRIORITY, slots=2))
    for name in ("work", "unrecorded"):
        client.send_many(name, [PriorityMessage(f"m{n}", 20) for n in range(6)])
        for delivery in client.take(name, 3):
            client.ack(delivery)
    forwarded(client)
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 2)
    archive(spark, options, path)
    monkeypatch.setattr(sentences.with_retries, "__defaults__", (sentences.ATTEMPTS, 0.0))
    tries = fails_once(monkeypatch, reconciling, "findings", late)
    summary = reconcile(spark, Inputs(options, path, str(tmp_path / "reports"), stuck_ms=10**12))
    assert (summary["counts"], summary["complete"]) == ({}, True)
    assert len(tries) == 2
    Control(client).delete_route("r")


def forwarded(client: RMQ) -> None:
    """What a route takes from `calls` is done there, and arrives: in `mail` it is judged like all that is sent, in the
    stream it is not judged. What it parks is a dead letter of `calls`; two wait still."""
    for name in ("calls", "mail"):
        client.define(Topic(name, TopicKind.PRIORITY, slots=2, journal="full"))
    client.define(Topic("log", "stream", slots=1, journal="full"))
    route = client.define_route(Route("r", "calls", ("log", Target("mail", priority=30, key="{header.of}/{id}"))))
    client.send_many("calls", [PriorityMessage(f"c{n}", 20, headers={"of": "tower"} if n else None) for n in range(6)])
    topics = {name: client.topic(name) for name in ("log", "mail")}
    moved = client.run(Forwarder(client.keyspace, route, client.topic("calls"), topics).move(client.take("calls", 4)))
    assert (moved.forwarded + moved.parked, moved.parked <= 1) == (4, True)
    for delivery in client.take("mail", 2):
        client.ack(delivery)
