"""A worker bench whose books are balanced in the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rmq_core.embedded.redis import EmbeddedRedis
from tests.engine.books import assert_books_balance
from tests.engine.worker.bench import WorkerBench, open_bench


@pytest.fixture
def bench(redis_server: EmbeddedRedis, namespace: str) -> Iterator[WorkerBench]:
    with redis_server.client() as raw:
        for opened in open_bench(redis_server.url, namespace, raw):
            yield opened
            assert_books_balance(raw, namespace)
