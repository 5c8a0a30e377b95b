"""Every scenario runs on every deployment, and leaves balanced ledger and no key behind.

Beside them it runs with one client on a server of each further kind that we serve: Redis 7 and 6.2. With which values
it is tried, such as kinds of topics, is tried in full on one of them; the others get these values in turn.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import fakeredis
import pytest
from redis.cluster import RedisCluster

from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_cluster import EmbeddedCluster
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

_CLIENTS = [pytest.param((flavour, "redis"), id=f"{flavour}-redis") for flavour in SHELLS["redis"]]
clients_alone = pytest.mark.parametrize("bench", _CLIENTS, indirect=True)
"""For what a client refuses before any server hears of it: there is nothing in it that differs by deployment."""

_SERVERS = {("async", "redis"), ("sync", "fakeredis"), ("sync", "cluster"), *(("sync", kind) for kind in SERVER_KINDS)}
scripts_alone = pytest.mark.parametrize(
    "bench", [each for each in BENCHES if each.values[0] in _SERVERS], indirect=True
)
"""For what happens inside a script, or in one after the other: each kind of server once, with either client. How these
reach their servers, and find what lies in several slots, is in the other files."""

few_servers = pytest.mark.parametrize(
    "bench",
    [each for each in BENCHES if each.values[0] in {("async", "redis"), ("sync", "fakeredis"), ("sync", "cluster")}],
    indirect=True,
)
"""For what is in the scripts alone, and the same on every server: each way of running them once."""

JOURNALS = ("full", "off", "events")
"""Every scenario is also one of the journal: each mode meets every deployment or every client."""
BENCHES_AT = {each.values[0]: position for position, each in enumerate(BENCHES)}


THOROUGH = ("async", "redis")
HERE = f"{Path(__file__).parent}{os.sep}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves each bench but `THOROUGH` one of the values of a scenario; decision 275."""

    def scenario(item: Any) -> tuple[str, tuple[str, str]] | None:
        own = {**item.callspec.params} if hasattr(item, "callspec") and str(item.path).startswith(HERE) else {}
        bench = own.pop("bench", THOROUGH)
        return (item.nodeid.partition("[")[0], bench) if own and bench in BENCHES_AT and bench != THOROUGH else None

    values, turn = Counter(map(scenario, items)), Counter[Any]()
    kept, left = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        which = scenario(item)
        here = which is None or turn[which] == BENCHES_AT[which[1]] % values[which]
        turn[which] += 1
        (kept if here else left).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left)


@pytest.fixture(scope="session")
def client_of() -> Iterator[Callable[[EmbeddedRedis | EmbeddedCluster], Any]]:
    """Gives the plain client of a server, opened once: a look at a cluster begins with a table of all its commands."""
    opened: dict[str, Any] = {}
    with ExitStack() as stack:

        def of(server: EmbeddedRedis | EmbeddedCluster) -> Any:
            if server.url not in opened:
                opened[server.url] = stack.enter_context(server.client())
            return opened[server.url]

        yield of
        for client in opened.values():
            if isinstance(client, RedisCluster):
                client.disconnect_connection_pools()  # which its close() leaves open


@pytest.fixture(params=BENCHES)
async def bench(request: pytest.FixtureRequest, namespace: str, client_of: Callable[..., Any]) -> AsyncIterator[Bench]:
    flavour, deployment = request.param
    journal = JOURNALS[BENCHES_AT[flavour, deployment] % len(JOURNALS)]
    make_client = None
    if deployment == "fakeredis":
        server = request.getfixturevalue("fake_server")
        raw = fakeredis.FakeRedis(server=server)
        kind = fakeredis.FakeRedis if flavour == "sync" else fakeredis.FakeAsyncRedis
        url, make_client = "redis://fake", lambda: kind(server=server)
    else:
        if deployment in SERVER_KINDS:
            running = request.getfixturevalue("redis_of_kind")(deployment)
        else:
            running = request.getfixturevalue({"redis": "redis_server"}.get(deployment, f"redis_{deployment}"))
        url = running.url
        raw = client_of(running.master() if deployment == "sentinel" else running)
    async with open_bench(flavour, url, namespace, raw, make_client) as opened:
        opened.journal = journal
        yield opened
        await opened.check_journals()
        assert_ledger_balances(raw, namespace)
        for sample in await opened.inspector.sample(groups=True):
            assert [slot.ledger_gap for slot in sample.slots] == [0] * sample.topic.slots
        for route in await opened.inspector.routes():
            await opened.control.delete_route(route.route.name, force=True)
        for topic in await opened.inspector.topics():
            await opened.control.delete_topic(topic.name, force=True)
    if deployment in {"fakeredis", "sentinel"}:  # the others' servers are looked at where the namespace ends
        assert keys_of(raw, namespace) == []
    if deployment == "fakeredis":
        raw.close()
