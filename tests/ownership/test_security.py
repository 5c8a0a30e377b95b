"""Credentials, closed nodes and TLS, against servers that insist on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization
from kazoo.exceptions import NoAuthError

from rmq_core.embedded.ports import free_port
from rmq_core.embedded.zookeeper import EmbeddedZooKeeper
from rmq_core.errors import ConfigurationError, ZooKeeperUnavailable
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.ownership.session import Session
from tests.ownership.conftest import TICK_MS, opened
from tests.ownership.fleet import Fleet

pytestmark = pytest.mark.zookeeper

JAAS = """
Server {
  org.apache.zookeeper.server.auth.DigestLoginModule required
  user_fleet="secret"
  user_outsider="secret";
};
"""


async def refuses_outsiders(config: ZooKeeperConfig, outsiders: list[ZooKeeperConfig], path: str) -> None:
    async with opened(config) as ours:
        await ours.ensure(path)
        await ours.create(f"{path}/x", b"hidden", ephemeral=True)
        for outsider in outsiders:
            async with opened(outsider) as theirs:
                for attempt in (theirs.get(f"{path}/x"), theirs.create(f"{path}/y"), theirs.children(path)):
                    with pytest.raises(NoAuthError):
                        await attempt
        await ours.delete(f"{path}/x")
        await ours.delete(path)


def config_for(hosts: str) -> ZooKeeperConfig:
    return ZooKeeperConfig(hosts, session_timeout_ms=10_000, connect_timeout_ms=15_000)


async def test_digest_closes_our_nodes_to_others(quick_zookeeper: EmbeddedZooKeeper, namespace: str) -> None:
    nobody = config_for(quick_zookeeper.hosts)
    ours = replace(nobody, username="fleet", password="secret")
    await refuses_outsiders(ours, [nobody, replace(ours, password="guessed")], f"/{namespace}")


def test_a_fleet_with_credentials_keeps_others_out(
    redis_server: object, quick_zookeeper: EmbeddedZooKeeper, namespace: str
) -> None:
    nobody = config_for(quick_zookeeper.hosts)
    with Fleet(redis_server.url, namespace, replace(nobody, username="fleet", password="secret"), slots=4) as fleet:
        fleet.start("ann")
        fleet.owned_by("ann")
        fleet.start("eve", zookeeper=nobody)
        assert fleet.workers.pop("eve").wait(60) != 0
        assert "belongs to other credentials" in fleet.log("eve")


@pytest.fixture
def sasl_zookeeper(
    zookeeper_parts: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[EmbeddedZooKeeper]:
    jaas = tmp_path / "jaas.conf"
    jaas.write_text(JAAS)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.auth.login.config={jaas}")
    provider = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
    with EmbeddedZooKeeper(tick_ms=TICK_MS, config={"authProvider.1": provider}) as server:
        yield server


async def test_sasl_is_passed_through(sasl_zookeeper: EmbeddedZooKeeper, namespace: str) -> None:
    nobody = config_for(sasl_zookeeper.hosts)
    ours = replace(nobody, username="fleet", password="secret", sasl="DIGEST-MD5")
    await refuses_outsiders(ours, [nobody, replace(ours, username="outsider")], f"/{namespace}")


async def test_wrong_sasl_credentials_are_said(sasl_zookeeper: EmbeddedZooKeeper) -> None:
    config = config_for(sasl_zookeeper.hosts)
    wrong = replace(config, username="fleet", password="guessed", sasl="DIGEST-MD5")
    with pytest.raises(ConfigurationError, match="refused the credentials"):
        await Session(wrong).open()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, a server and a client of its, and another authority, as PEM files."""
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    trustme.CA().cert_pem.write_to_path(str(folder / "other-ca.pem"))
    for name in ("server", "client"):
        issued = authority.issue_cert("127.0.0.1", "localhost")
        key, certificate = _pkcs8(issued.private_key_pem.bytes()), issued.cert_chain_pems[0].bytes()
        (folder / f"{name}-key.pem").write_bytes(key)
        (folder / f"{name}-cert.pem").write_bytes(certificate)
        (folder / f"{name}.pem").write_bytes(key + certificate)
    return folder


def _pkcs8(pem: bytes) -> bytes:
    """The only form of a key that ZooKeeper reads."""
    key = serialization.load_pem_private_key(pem, None)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@pytest.fixture
def tls_hosts(zookeeper_parts: None, certificates: Path) -> Iterator[str]:
    port = free_port()
    settings = {
        "secureClientPort": port,
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "ssl.keyStore.location": str(certificates / "server.pem"),
        "ssl.trustStore.location": str(certificates / "ca.pem"),
        "ssl.clientAuth": "need",
    }
    with EmbeddedZooKeeper(tick_ms=TICK_MS, config=settings):
        yield f"127.0.0.1:{port}"


# kazoo leaves the sockets of failed handshakes to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_tls_is_passed_through(tls_hosts: str, certificates: Path, namespace: str) -> None:
    trusting = replace(config_for(tls_hosts), tls=True, ca=str(certificates / "ca.pem"), check_hostname=True)
    known = replace(
        trusting,
        certfile=str(certificates / "client-cert.pem"),
        keyfile=str(certificates / "client-key.pem"),
    )
    async with opened(known) as session:
        await session.create(f"/{namespace}", ephemeral=True)
        assert session.lease.valid
    wrong = (
        trusting,  # without a certificate of its own
        replace(known, ca=str(certificates / "other-ca.pem")),
        replace(known, tls=False),
    )
    for config in wrong:
        with pytest.raises(ZooKeeperUnavailable):
            await Session(replace(config, connect_timeout_ms=2_000)).open()
