"""TLS, with client certificates, to servers, Sentinels and Clusters that insist on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest
import trustme

from rmq_core import RMQ, AsyncRMQ, Control, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.ports import LOOPBACK, free_port
from rmq_core.embedded.redis import CLUSTER_BUS_OFFSET, EmbeddedRedis
from rmq_core.embedded.redis_config import ConfigValue
from rmq_core.errors import RMQError
from tests.support.servers import server_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.cluster


@dataclass(frozen=True)
class Files:
    """PEM files: whom to trust, and who we are."""

    ca: str
    cert: str
    key: str

    def directives(self) -> dict[str, ConfigValue]:
        return {
            "tls-ca-cert-file": self.ca,
            "tls-cert-file": self.cert,
            "tls-key-file": self.key,
            "tls-auth-clients": "yes",
            "tls-replication": "yes",
        }

    def options(self, prefix: str = "") -> dict[str, str]:
        return {
            f"{prefix}ssl_ca_certs": self.ca,
            f"{prefix}ssl_certfile": self.cert,
            f"{prefix}ssl_keyfile": self.key,
        }


def make_files(folder: Path) -> Files:
    authority = trustme.CA()
    issued = authority.issue_cert(LOOPBACK, "localhost")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    issued.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    issued.private_key_pem.write_to_path(folder / "key.pem")
    return Files(*(str(folder / name) for name in ("ca.pem", "cert.pem", "key.pem")))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return make_files(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def outsiders(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Those of another authority."""
    return make_files(tmp_path_factory.mktemp("other"))


@pytest.fixture(scope="module")
def master(files: Files) -> Iterator[tuple[EmbeddedRedis, int]]:
    port = free_port()
    config = {"tls-port": port, **files.directives()}
    with EmbeddedRedis(executable=server_of("redis-7"), config=config) as server:
        yield server, port


class SentinelProcess(EmbeddedRedis):
    """The same program in its other role, speaking TLS only to whom it knows."""

    def _arguments(self) -> tuple[str, ...]:
        return ("--sentinel",)

    def _directives(self) -> dict[str, ConfigValue]:
        return {name: value for name, value in self._config.items() if name.startswith(("tls", "sentinel", "dir"))}


@pytest.fixture(scope="module")
def sentinel(master: tuple[EmbeddedRedis, int], files: Files) -> Iterator[str]:
    """The beginning of a URL."""
    port = free_port()
    config: dict[str, ConfigValue] = {
        "tls-port": port,
        "sentinel monitor": ("secure", LOOPBACK, master[1], 1),
        "sentinel auth-pass": ("secure", master[0].password),
        **files.directives(),
    }
    with SentinelProcess(executable=server_of("redis-7"), config=config):
        yield f"sentinel://:{master[0].password}@{LOOPBACK}:{port}/secure/0?ssl=true&"


async def works(url: str) -> None:
    """Both clients send and take."""
    with RMQ(url, "tls", retry_for_ms=2_000) as rmq:
        rmq.define(Topic("work", TopicKind.PRIORITY))
        rmq.send("work", PriorityMessage("a", 30))
        async with AsyncRMQ(url, "tls", retry_for_ms=2_000) as client:
            assert await client.ack(await client.take("work")) == ["done"]
        Control(rmq).delete_topic("work")


async def refused(url: str) -> None:
    """Neither client gets in."""
    with RMQ(url, "tls", retry_for_ms=200) as rmq, pytest.raises(RMQError):
        rmq.topic("work")
    async with AsyncRMQ(url, "tls", retry_for_ms=200) as client:
        with pytest.raises(RMQError):
            await client.topic("work")


async def test_one_server(master: tuple[EmbeddedRedis, int], files: Files, outsiders: Files) -> None:
    url = f"rediss://:{master[0].password}@{LOOPBACK}:{master[1]}/0?"
    await works(url + urlencode(files.options()))
    await refused(url + urlencode(outsiders.options()))
    await refused(url + urlencode({"ssl_ca_certs": files.ca}))


async def test_sentinel(sentinel: str, files: Files, outsiders: Files) -> None:
    await works(sentinel + urlencode(files.options()))
    await works(sentinel + urlencode({**files.options(), **files.options("sentinel_")}))
    await refused(sentinel + urlencode({**files.options(), **outsiders.options("sentinel_")}))
    await refused(sentinel + urlencode({**outsiders.options(), **files.options("sentinel_")}))
    await refused(sentinel + urlencode({**files.options(), "sentinel_ssl": "false"}))


async def test_cluster(files: Files, outsiders: Files) -> None:
    """One node that serves every hash slot is a Cluster, too."""
    port = free_port(also=(CLUSTER_BUS_OFFSET,))
    config = {"cluster-enabled": "yes", "tls-cluster": "yes", "tls-port": port, **files.directives()}
    with EmbeddedRedis(executable=server_of("redis-7"), config=config) as node, node.client() as client:
        client.execute_command("CLUSTER ADDSLOTS", *range(16_384))
        wait_until(lambda: client.execute_command("CLUSTER INFO")["cluster_state"] == "ok", what="the Cluster to serve")
        url = f"cluster://:{node.password}@{LOOPBACK}:{port}?ssl=true&"
        await works(url + urlencode(files.options()))
        await refused(url + urlencode(outsiders.options()))
