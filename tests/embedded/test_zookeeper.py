"""The embedded ZooKeeper, alone and as an ensemble."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from rmq_core.embedded.zookeeper import EmbeddedEnsemble, EmbeddedZooKeeper, zookeeper_jars
from rmq_core.errors import EmbeddedServerError
from tests.support.waiting import wait_until

pytestmark = pytest.mark.zookeeper


def test_it_serves_at_its_address(zookeeper: EmbeddedZooKeeper, namespace: str) -> None:
    assert zookeeper.mode == "standalone"
    with _client(zookeeper.hosts) as client:
        client.create(f"/{namespace}", b"here")
        assert client.get(f"/{namespace}")[0] == b"here"
        client.delete(f"/{namespace}")


def test_a_restart_keeps_port_and_data(zookeeper_parts: None, tmp_path: Path) -> None:
    folder = tmp_path / "数据 with spaces \\ and more"
    with EmbeddedZooKeeper(folder) as server:
        hosts = server.hosts
        with _client(hosts) as client:
            client.create("/kept", b"yes")
        server.restart(kill=True)
        assert server.hosts == hosts
        with _client(hosts) as client:
            assert client.get("/kept")[0] == b"yes"
    with EmbeddedZooKeeper(folder) as server, _client(server.hosts) as client:
        assert client.get("/kept")[0] == b"yes"


def test_a_short_session_ends_with_its_client(zookeeper: EmbeddedZooKeeper, namespace: str) -> None:
    with _client(zookeeper.hosts, timeout=1.0) as client:
        client.create(f"/{namespace}", ephemeral=True)
        with _client(zookeeper.hosts) as other:
            client.stop()
            wait_until(lambda: other.exists(f"/{namespace}") is None, what="the ephemeral node to be gone")


def test_an_ensemble_outlives_its_leader(zookeeper_parts: None) -> None:
    with EmbeddedEnsemble() as ensemble, _client(ensemble.hosts) as client:
        assert sorted(str(server.mode) for server in ensemble.servers) == ["follower", "follower", "leader"]
        client.create("/kept", b"yes")
        old = ensemble.leader()
        old.kill()
        wait_until(lambda: _leader(ensemble) not in (None, old), timeout_s=30, what="a new leader")
        assert client.retry(client.get, "/kept")[0] == b"yes"
        old.start()
        assert old.mode == "follower"


def test_it_ends_with_its_process(zookeeper_parts: None, run_python: Callable[[str], list[int]]) -> None:
    pids = run_python(
        """
        import os, signal
        from rmq_core.embedded.zookeeper import EmbeddedZooKeeper
        print(EmbeddedZooKeeper().start().pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    wait_until(lambda: not Path(f"/proc/{pids[0]}").exists(), what="the server to be gone")


def test_without_pyspark_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EmbeddedServerError, match=r"pip install 'rmq-console\[pipeline\]'"):
        zookeeper_jars()


def test_wrong_settings_are_told_with_the_servers_words(zookeeper_parts: None) -> None:
    server = EmbeddedZooKeeper(config={"tickTime": "often"})
    with pytest.raises(EmbeddedServerError, match=r"ended while starting[\s\S]*often"):
        server.start()


def _leader(ensemble: EmbeddedEnsemble) -> EmbeddedZooKeeper | None:
    try:
        return ensemble.leader()
    except EmbeddedServerError:
        return None


@contextmanager
def _client(hosts: str, timeout: float = 10.0) -> Iterator[KazooClient]:
    client = KazooClient(hosts, timeout=timeout)
    client.start(120)  # a busy machine
    try:
        yield client
    finally:
        client.stop()
        client.close()
