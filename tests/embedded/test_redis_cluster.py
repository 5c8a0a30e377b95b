"""The embedded Redis Cluster."""

from __future__ import annotations

import pytest

from rmq_core.embedded.redis_cluster import EmbeddedCluster
from rmq_core.errors import EmbeddedServerError
from tests.support.waiting import wait_until

pytestmark = pytest.mark.cluster


def test_three_masters_share_the_slots(redis_cluster: EmbeddedCluster, namespace: str) -> None:
    keys = [f"{namespace}:{number}" for number in range(30)]
    with redis_cluster.client() as client:
        for key in keys:
            assert client.set(key, key)
        masters = [redis_cluster.master_of(key) for key in keys]
        assert {id(master) for master in masters} == {id(node) for node in redis_cluster.nodes}
        for key, master in zip(keys, masters, strict=True):
            with master.client() as direct:
                assert direct.get(key) == key.encode()  # would be a MOVED error elsewhere
            client.delete(key)


def test_a_replica_takes_over_and_the_old_master_comes_back() -> None:
    with EmbeddedCluster(replicas=1) as cluster, cluster.client() as client:
        client.set("kept", "yes")
        old = cluster.master_of("kept")
        with old.client() as direct:
            assert direct.wait(1, 5_000) == 1
        cluster.kill(cluster.nodes.index(old))
        new = wait_until(
            lambda: (master := cluster.master_of("kept")) is not old and master,
            timeout_s=30,
            what="a replica to take over",
        )
        with new.client() as direct:
            assert direct.get("kept") == b"yes"
        cluster.start()
        with old.client() as direct:
            assert direct.info("replication")["role"] == "slave"


def test_fewer_than_three_masters_are_refused() -> None:
    with pytest.raises(EmbeddedServerError, match="needs 3 masters"):
        EmbeddedCluster(masters=2)


def test_a_cluster_that_cannot_form_says_so_and_leaves_nothing_running() -> None:
    cluster = EmbeddedCluster(start_timeout_s=0)
    with (
        pytest.raises(EmbeddedServerError, match=r"did not get to know each other[\s\S]*The ends of their logs"),
        cluster,
    ):
        pass
    assert not any(node.running or node.dir.exists() for node in cluster.nodes)
