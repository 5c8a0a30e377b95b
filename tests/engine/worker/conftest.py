"""A worker bench whose ledger are balanced in the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rmq_core.embedded.redis import EmbeddedRedis
from tests.engine.ledgers import assert_ledger_balances
from tests.engine.worker.bench import WorkerBench, open_bench


@pytest.fixture
def bench(redis_server: EmbeddedRedis, namespace: str) -> Iterator[WorkerBench]:
    with redis_server.client() as raw:
        for opened in open_bench(redis_server.url, namespace, raw):
            yield opened
            assert_ledger_balances(raw, namespace)
