"""The embedded Sentinel service."""

from __future__ import annotations

import pytest
from redis.sentinel import MasterNotFoundError, Sentinel

from rmq_core.embedded.redis_sentinel import EmbeddedSentinel

pytestmark = pytest.mark.cluster


def test_a_replica_is_promoted_when_the_master_dies() -> None:
    with EmbeddedSentinel() as service:
        assert service.url.endswith(f"@127.0.0.1:{service.sentinels[0].port}/rmq/0")
        with service.client() as client:
            client.set("kept", "yes")
            assert client.wait(1, 5_000) == 1
        old = service.kill_master()
        new = service.wait_for_new_master(old)
        assert new is not old
        with service.client() as client:
            assert client.get("kept") == b"yes"

        known = Sentinel([("127.0.0.1", service.sentinels[0].port)])
        assert known.discover_master(service.service)[1] == new.port


def test_several_sentinels_find_each_other() -> None:
    with EmbeddedSentinel(sentinels=3, replicas=2, service="other") as service:
        assert service.url.count("127.0.0.1:") == 3
        assert service.url.endswith("/other/0")
        assert service.master() is service.servers[0]


def test_the_sentinels_can_ask_for_a_password_of_their_own() -> None:
    with EmbeddedSentinel(sentinels=2, sentinel_password='odd @:/#% "') as service:
        outsider = Sentinel([("127.0.0.1", service.sentinels[0].port)])
        with pytest.raises(MasterNotFoundError):
            outsider.discover_master(service.service)
        old = service.kill_master()
        assert service.wait_for_new_master(old) is not old
