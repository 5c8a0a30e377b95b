"""What all engine tests share: hypothesis profiles, and servers of a kind that only some of them need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rmq_core.embedded.redis_sentinel import EmbeddedSentinel
from tests.support.profiles import load_profile

load_profile()


@pytest.fixture(scope="session")
def redis_sentinel() -> Iterator[EmbeddedSentinel]:
    """A master, a replica and a Sentinel for the whole run."""
    with EmbeddedSentinel() as servers:
        yield servers
