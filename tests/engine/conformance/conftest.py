"""Every scenario runs on every deployment, and leaves balanced ledger and no key behind.

Beside them it runs with one client on a server of each further kind that we serve: Redis 7 and 6.2.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import fakeredis
import pytest

from tests.engine.conformance.bench import Bench, open_bench
from tests.engine.ledgers import assert_ledger_balances
from tests.support.keys import keys_of
from tests.support.servers import DEFAULT_KIND, SERVER_KINDS

SHELLS = {"redis": ("sync", "async"), "fakeredis": ("sync",), "cluster": ("sync", "async"), "sentinel": ("async",)}
"""Both where the way to the server differs; who finds a master is tested with both in `test_failover`."""
BENCHES = [
    pytest.param((flavour, deployment), id=f"{flavour}-{deployment}", marks=_marks)
    for deployment, flavours in SHELLS.items()
    for _marks in [pytest.mark.cluster if deployment in {"cluster", "sentinel"} else ()]
    for flavour in flavours
] + [pytest.param(("sync", kind), id=f"sync-{kind}") for kind in SERVER_KINDS if kind != DEFAULT_KIND]

JOURNALS = ("full", "off", "events")
"""Every scenario is also one of the journal: each mode meets every deployment or every client."""
BENCHES_AT = {each.values[0]: position for position, each in enumerate(BENCHES)}


@pytest.fixture(params=BENCHES)
async def bench(request: pytest.FixtureRequest, namespace: str) -> AsyncIterator[Bench]:
    flavour, deployment = request.param
    journal = JOURNALS[BENCHES_AT[flavour, deployment] % len(JOURNALS)]
    make_client = None
    if deployment == "fakeredis":
        server = fakeredis.FakeServer()
        raw = fakeredis.FakeRedis(server=server)
        kind = fakeredis.FakeRedis if flavour == "sync" else fakeredis.FakeAsyncRedis
        url, make_client = "redis://fake", lambda: kind(server=server)
    else:
        if deployment in SERVER_KINDS:
            running = request.getfixturevalue("redis_of_kind")(deployment)
        else:
            running = request.getfixturevalue({"redis": "redis_server"}.get(deployment, f"redis_{deployment}"))
        url = running.url
        raw = running.master().client() if deployment == "sentinel" else running.client()
    async with open_bench(flavour, url, namespace, raw, make_client) as opened:
        opened.journal = journal
        yield opened
        await opened.check_journals()
        assert_ledger_balances(raw, namespace)
        for sample in await opened.inspector.sample():
            assert [slot.ledger_gap for slot in sample.slots] == [0] * sample.topic.slots
        for topic in await opened.inspector.topics():
            await opened.control.delete_topic(topic.name, force=True)
    assert keys_of(raw, namespace) == []
    if deployment == "cluster":
        raw.disconnect_connection_pools()  # which its close() leaves open
    raw.close()
