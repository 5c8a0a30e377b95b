"""The embedded Redis: what it promises to whoever starts it."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from rmq_core.embedded.ports import PortTaken, on_free_port
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import EmbeddedServerError
from tests.support.waiting import wait_until


def test_it_answers_privately_and_leaves_nothing_behind() -> None:
    with EmbeddedRedis() as server:
        assert redis.Redis.from_url(server.url).ping()
        assert server.running
        assert server.dir.stat().st_mode & 0o077 == 0
        pid = server.pid
    assert not server.running
    assert not server.dir.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_it_never_evicts_and_writes_nothing_unless_told() -> None:
    with EmbeddedRedis() as server, server.client(decode_responses=True) as client:
        config = client.config_get("*")
        assert config["maxmemory-policy"] == "noeviction"
        assert config["appendonly"] == "no"
        assert config["save"] == ""


def test_config_reaches_the_server_word_for_word() -> None:
    secret = 'a "b" \\c\n #d'
    config = {"maxmemory": "100mb", "client-output-buffer-limit": ("normal", 0, 0, 0)}
    with EmbeddedRedis(config=config, password=secret) as server:
        client = server.client(decode_responses=True)
        assert client.config_get("maxmemory")["maxmemory"] == str(100 * 1024**2)
        assert client.config_get("requirepass")["requirepass"] == secret


@pytest.mark.parametrize("kill", [False, True])
def test_a_restart_keeps_port_and_data(kill: bool) -> None:
    with EmbeddedRedis(appendonly=True, config={"appendfsync": "always"}) as server:
        server.client().set("kept", "yes")
        url, pid = server.url, server.pid
        server.restart(kill=kill)
        assert (server.url, server.client().get("kept")) == (url, b"yes")
        assert server.pid != pid


def test_a_given_folder_outlives_the_server(tmp_path: Path) -> None:
    folder = tmp_path / "数据 with spaces"
    for expected in (None, b"yes"):
        with EmbeddedRedis(folder, appendonly=True) as server:
            assert server.client().get("kept") == expected
            server.client().set("kept", "yes")


def test_a_folder_serves_one_server_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rmq_core.embedded.process._LOCK_WAIT_S", 0)
    with EmbeddedRedis(tmp_path) as server:
        with pytest.raises(EmbeddedServerError, match="another server is using the data folder"):
            EmbeddedRedis(tmp_path).start()
        assert server.client().ping()
    with EmbeddedRedis(tmp_path) as server:
        assert server.client().ping()


def test_it_listens_on_a_unix_socket_alone() -> None:
    with EmbeddedRedis(unix_socket=True, password="p@ss/w?rd") as server:
        assert server.url.startswith("unix://")
        client = redis.Redis.from_url(server.url)
        assert client.config_get("port") == {"port": "0"} or client.config_get("port") == {b"port": b"0"}


def test_too_long_a_socket_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedServerError, match="choose a shorter data folder"):
        EmbeddedRedis(tmp_path / ("x" * 100), unix_socket=True)


def test_a_wrong_directive_is_told_with_the_servers_words() -> None:
    with pytest.raises(EmbeddedServerError, match=r"ended while starting[\s\S]*nonsense"):
        EmbeddedRedis(config={"nonsense": 1}).start()


@pytest.mark.parametrize("program", ["/nowhere/redis-server", __file__])
def test_what_cannot_be_run_is_refused(program: str) -> None:
    with pytest.raises(EmbeddedServerError, match="give executable= the path of a redis-server"):
        EmbeddedRedis(executable=program)


def test_a_program_that_never_answers_is_given_up_and_ended(tmp_path: Path) -> None:
    silent = tmp_path / "silent"
    silent.write_text(
        "#!/bin/sh\n[ $1 = --version ] && echo Redis server v=7.0.0 && exit\necho here I am\nexec sleep 60\n"
    )
    silent.chmod(0o755)
    server = EmbeddedRedis(executable=silent, start_timeout_s=0.5)
    with pytest.raises(EmbeddedServerError, match=r"not ready within 0\.5 s[\s\S]*here I am"):
        server.start()
    assert not server.running


def test_a_port_in_use_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(PortTaken):
        EmbeddedRedis(port=other.getsockname()[1]).start()


def test_somebody_quicker_on_a_free_port_is_avoided() -> None:
    tried: list[int] = []

    def start(port: int) -> None:
        tried.append(port)
        if len(tried) < 3:
            raise PortTaken("somebody was quicker")

    assert on_free_port(start) == tried[-1]
    assert len(set(tried)) == 3

    def never(port: int) -> None:
        raise PortTaken("somebody was quicker")

    with pytest.raises(PortTaken):
        on_free_port(never)


def test_a_paused_server_is_silent_and_comes_back() -> None:
    with EmbeddedRedis() as server, server.client() as client:
        server.pause()
        with server.client(socket_timeout=0.1) as impatient, pytest.raises(redis.TimeoutError):
            impatient.ping()
        server.resume()
        assert client.ping()
        server.pause()
        server.stop()
        assert not server.running


def test_it_survives_the_thread_that_started_it() -> None:
    server = EmbeddedRedis()
    try:
        starter = threading.Thread(target=server.start)
        starter.start()
        starter.join()
        for _ in range(50):
            assert server.client().ping()
    finally:
        server.close()


def test_it_is_not_in_reach_of_ctrl_c() -> None:
    with EmbeddedRedis() as server:
        assert os.getsid(server.pid) != os.getsid(0)


def test_it_ends_with_its_process(run_python: Callable[[str], list[int]], ending: str) -> None:
    pids = run_python(
        f"""
        import os, signal, sys
        from rmq_core.embedded.redis import EmbeddedRedis
        server = EmbeddedRedis().start()
        print(server.pid, flush=True)
        {ending}
        """
    )
    wait_until(lambda: not _alive(pids[0]), what=f"the server to be gone after {ending}")


@pytest.fixture(params=["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(0)", "sys.exit(0)", "raise ValueError"])
def ending(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_the_c_library_is_told_how_to_allocate_unless_somebody_has_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(server: EmbeddedRedis) -> bytes:
        variables = Path(f"/proc/{server.pid}/environ").read_bytes().split(b"\0")
        return next(each for each in variables if each.startswith(b"GLIBC_TUNABLES="))

    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    with EmbeddedRedis() as server:
        assert b"mxfast=0" in told(server)
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=7")
    with EmbeddedRedis() as server:
        assert told(server) == b"GLIBC_TUNABLES=glibc.malloc.tcache_count=7"
