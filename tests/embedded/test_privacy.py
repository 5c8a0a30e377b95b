"""What servers keep and where they listen is nobody else's business, whatever the umask and the folder's modes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from rmq_core import RMQ, AsyncRMQ, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_cluster import EmbeddedCluster
from rmq_core.embedded.server import EmbeddedServer
from rmq_core.embedded.zookeeper import EmbeddedEnsemble, EmbeddedZooKeeper
from rmq_core.errors import EmbeddedServerError
from rmq_core.private_files import private_folder

TOPIC = Topic("letters", TopicKind.PRIORITY, slots=2)
ODD = "odd @:/?#[]%41+& \"'\\ é数"


@pytest.fixture(autouse=True)
def careless_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    found = [folder, *folder.rglob("*")]
    return [f"{stat.filemode(path.lstat().st_mode)} {path}" for path in found if path.lstat().st_mode & 0o077]


def redis_with_everything(folder: Path) -> EmbeddedServer:
    server = EmbeddedRedis(folder, appendonly=True)
    with server, server.client() as client:
        client.set("kept", "secret")
        client.save()
    return server


def redis_on_a_socket(folder: Path) -> EmbeddedServer:
    with EmbeddedRedis(folder, unix_socket=True) as server:
        assert open_to_others(folder) == []
    return server


def zookeeper(folder: Path) -> EmbeddedServer:
    with EmbeddedZooKeeper(folder) as server:
        server.restart()
    return server


SERVERS = [
    redis_with_everything,
    redis_on_a_socket,
    pytest.param(zookeeper, marks=pytest.mark.zookeeper),
]


@pytest.mark.parametrize("run", SERVERS)
def test_nothing_is_open_to_others(
    run: Callable[[Path], EmbeddedServer], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if run is zookeeper:
        request.getfixturevalue("zookeeper_parts")
    folder = tmp_path / "new" / "data"
    run(folder)
    assert len(list(folder.rglob("*"))) > 3
    assert open_to_others(folder) == []


@pytest.mark.parametrize("run", SERVERS)
def test_what_an_older_release_left_open_is_closed(
    run: Callable[[Path], EmbeddedServer], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if run is zookeeper:
        request.getfixturevalue("zookeeper_parts")
    run(tmp_path)
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    run(tmp_path)
    assert open_to_others(tmp_path) == []


def test_a_folder_of_other_things_is_refused_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    tmp_path.chmod(0o755)
    with pytest.raises(EmbeddedServerError, match="holds what others use"):
        EmbeddedRedis(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    tmp_path.chmod(0o700)
    with EmbeddedRedis(tmp_path) as server:
        assert server.running


def test_a_folder_that_all_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "redis.conf").touch()
    tmp_path.chmod(0o1777)
    with pytest.raises(EmbeddedServerError, match="holds what others use"):
        EmbeddedRedis(tmp_path)


def test_links_are_not_followed_out_of_the_folder(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    for each in (folder, elsewhere):
        each.mkdir()
    (elsewhere / "file").touch()
    (folder / "appendonlydir").symlink_to(elsewhere)
    (folder / "data").mkdir()
    (folder / "data" / "gone").symlink_to(tmp_path / "nowhere")
    (folder / "data" / "file").symlink_to(elsewhere / "file")
    private_folder(folder, ours=("appendonlydir", "data"))
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE((folder / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o777
    assert stat.S_IMODE((elsewhere / "file").stat().st_mode) == 0o666


def test_a_linked_folder_is_closed_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    private_folder(tmp_path / "link")
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_somebody_elses_folder_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 65_534, -1)
    with pytest.raises(EmbeddedServerError, match="belongs to user 65534"):
        EmbeddedRedis(tmp_path)


def test_outsiders_are_asked_for_the_password_which_is_made_once_and_kept(tmp_path: Path) -> None:
    secrets = set()
    for _ in range(2):
        with EmbeddedRedis(tmp_path) as server:
            secrets.add(server.password)
            assert (tmp_path / "password").read_text().strip() == server.password
            with pytest.raises(redis.AuthenticationError):
                redis.Redis(port=server.port).ping()
            assert redis.Redis.from_url(server.url).ping()
    assert len(secrets) == 1 and len(secrets.pop()) > 40
    (tmp_path / "password").write_text("")  # as a full disk leaves it
    with EmbeddedRedis(tmp_path) as server:
        assert len(server.password) > 40


def test_the_password_is_in_no_argument_log_or_title() -> None:
    with EmbeddedRedis() as server, server.client() as client:
        client.ping()
        for seen in (Path(f"/proc/{server.pid}/cmdline").read_bytes(), (server.dir / "server.log").read_bytes()):
            assert server.password.encode() not in seen


def test_no_password_where_none_is_wanted() -> None:
    with EmbeddedRedis(password="") as server:
        assert "@" not in server.url
        assert redis.Redis(port=server.port).ping()


@pytest.mark.parametrize("unix_socket", [False, True])
async def test_an_odd_password_works_for_all_clients(unix_socket: bool, namespace: str) -> None:
    with EmbeddedRedis(password=ODD, unix_socket=unix_socket) as server:
        assert redis.Redis.from_url(server.url).ping()
        with RMQ(server.url, namespace) as client:
            client.define(TOPIC)
        async with AsyncRMQ(server.url, namespace) as other:
            assert (await other.send("letters", PriorityMessage("hello", 20))).id


@pytest.mark.cluster
def test_an_odd_password_works_on_a_cluster(namespace: str) -> None:
    with EmbeddedCluster(password=ODD) as cluster, RMQ(cluster.url, namespace) as client:
        client.define(TOPIC)
        assert client.send("letters", PriorityMessage("hello", 20)).id


def test_redis_listens_on_this_machine_alone() -> None:
    with EmbeddedRedis() as server:
        assert listening(server.pid) == {"0100007F"}


@pytest.mark.zookeeper
def test_zookeeper_listens_on_this_machine_alone(zookeeper_parts: None) -> None:
    with EmbeddedZooKeeper() as server:
        assert listening(server.pid) <= LOOPBACK
    with EmbeddedEnsemble() as ensemble:
        for member in ensemble.servers:
            assert listening(member.pid) <= LOOPBACK


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}


def listening(pid: int) -> set[str]:
    """Addresses, as the kernel writes them, of the process's TCP sockets that wait for connections."""
    sockets = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(str(entry.readlink()))
        except FileNotFoundError:
            continue
    tables = [Path(f"/proc/{pid}/net/{name}").read_text().splitlines() for name in ("tcp", "tcp6")]
    lines = [line.split() for table in tables for line in table]
    found = {line[1].split(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets}
    assert found
    return found
