"""The test helpers do what other tests rely on."""

from __future__ import annotations

import asyncio
import socket
import time
from functools import partial
from pathlib import Path

import pytest
import redis

from rmq_core.embedded.redis import EmbeddedRedis
from tests.conftest import pytest_runtest_setup
from tests.support.keys import keys_of, remove_keys_of
from tests.support.missing import missing
from tests.support.proxy import TcpProxy
from tests.support.scheduling import APART, FIRST, Together
from tests.support.waiting import wait_until, wait_until_async


@pytest.mark.parametrize("lacks", ["MariaDB", "PostgreSQL MariaDB", " MariaDB"])
def test_what_ci_says_that_it_lacks_is_skipped_and_all_else_fails(monkeypatch: pytest.MonkeyPatch, lacks: str) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("CI_LACKS", lacks)
    with pytest.raises(pytest.skip.Exception):
        missing("MariaDB is not installed")
    with pytest.raises(pytest.fail.Exception):
        missing("ZooKeeper is not installed")


def test_wait_until_returns_the_first_true_value() -> None:
    values = iter([0, None, "", "there"])
    assert wait_until(lambda: next(values), what="a value") == "there"


def test_wait_until_names_what_never_came() -> None:
    with pytest.raises(AssertionError, match=r"still waiting after 0\.01 s: the moon .*last value: False"):
        wait_until(lambda: False, timeout_s=0.01, what="the moon")


async def test_wait_until_async_takes_functions_and_coroutines() -> None:
    looks = 0

    async def look() -> bool:
        nonlocal looks
        looks += 1
        await asyncio.sleep(0)
        return looks > 2

    assert await wait_until_async(look, what="the third look")
    assert await wait_until_async(lambda: looks, what="any look") == 3
    with pytest.raises(AssertionError, match="the moon"):
        await wait_until_async(lambda: None, timeout_s=0.01, what="the moon")


def test_what_is_begun_first_is_there() -> None:
    assert [scope for scope in (*FIRST, *APART) if not (Path(__file__).parents[1] / scope).exists()] == []


def test_a_folder_that_is_cut_goes_to_two_processes_and_what_is_apart_to_its_own() -> None:
    part = partial(Together._split_scope, object.__new__(Together))
    assert part("tests/console/browser/test_copied.py::a") == part("tests/console/browser/test_alerts.py::b[tests/x]")
    second = part("tests/console/browser/test_truth.py::a")
    assert second == part("tests/console/browser/test_fair_topic.py::a") == "tests/console/browser/test_fair_topic.py"
    assert part("tests/ownership/test_why.py::a") == "tests/ownership/"
    assert part(f"{APART[0]}::a") == APART[0]
    assert part("tests/test_support.py::a") == "tests/test_support.py"


def test_keys_of_a_namespace_are_found_and_removed(redis_server: EmbeddedRedis, namespace: str) -> None:
    client = redis_server.client()
    other = f"x{namespace}"
    keys = [f"{namespace}:topics", f"retry{{{namespace}:price_3}}"]
    for key in [*keys, f"{other}x"]:
        client.set(key, 1)
    assert keys_of(client, namespace) == sorted(keys)
    remove_keys_of(client, namespace)
    assert keys_of(client, namespace) == []
    assert client.delete(f"{other}x") == 1


def test_a_test_that_leaves_a_key_fails(pytester: pytest.Pytester) -> None:
    pytester.makeini(
        f"[pytest]\nasyncio_default_fixture_loop_scope = function\npythonpath = {Path(__file__).parent.parent}"
    )
    pytester.makeconftest("from tests.conftest import *")
    pytester.makepyfile(
        """
        def test_leaks(redis_server, namespace):
            redis_server.client().set(f"retry{{{namespace}:price_3}}", 1)

        def test_clean(redis_server, namespace):
            assert redis_server.client().keys("*") == []
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:django")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*left 1 keys behind, such as retry{t*:price_3}*"])


def test_the_second_net_is_under_the_first(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    later_s: list[float] = []
    monkeypatch.setattr("faulthandler.dump_traceback_later", lambda seconds, **_: later_s.append(seconds))
    usual_s = float(request.config.getini("faulthandler_timeout"))
    assert usual_s > float(request.config.getini("timeout"))
    pytest_runtest_setup(request.node)
    assert later_s == []  # as pytest has set it
    request.node.add_marker(pytest.mark.timeout(2 * usual_s))
    pytest_runtest_setup(request.node)
    assert len(later_s) == 1 and later_s[0] > 2 * usual_s


def test_proxy_passes_what_it_gets(redis_server: EmbeddedRedis) -> None:
    with TcpProxy(redis_server.port) as proxy, _client(proxy, redis_server) as client:
        assert client.echo("x" * 1_000_000) == b"x" * 1_000_000
        assert proxy.connections_seen == 1


def test_proxy_cuts_and_takes_new_connections(redis_server: EmbeddedRedis) -> None:
    with TcpProxy(redis_server.port) as proxy:
        with _socket(proxy, redis_server) as held:
            assert _ping(held) == b"+PONG\r\n"
            assert proxy.cut() == 1
            assert held.recv(100) == b""
        with _socket(proxy, redis_server) as fresh:
            assert _ping(fresh) == b"+PONG\r\n"


def test_proxy_refuses_until_it_accepts(redis_server: EmbeddedRedis) -> None:
    with TcpProxy(redis_server.port) as proxy, _client(proxy, redis_server) as client:
        client.ping()
        proxy.refuse()
        for _ in range(2):
            with pytest.raises(redis.ConnectionError):
                client.ping()
        proxy.accept()
        assert client.ping()


def test_proxy_stalls_until_it_flows(redis_server: EmbeddedRedis) -> None:
    with TcpProxy(redis_server.port) as proxy, _socket(proxy, redis_server) as held:
        _ping(held)
        proxy.stall()
        held.settimeout(0.1)
        with pytest.raises(TimeoutError):
            _ping(held)
        proxy.flow()
        held.settimeout(10)
        assert held.recv(100) == b"+PONG\r\n"


def test_proxy_delays_in_each_direction(redis_server: EmbeddedRedis) -> None:
    with TcpProxy(redis_server.port) as proxy, _socket(proxy, redis_server) as held:
        proxy.delay(100)
        began = time.monotonic()
        assert _ping(held) == b"+PONG\r\n"
        assert time.monotonic() - began >= 0.2


def test_proxy_delivers_a_command_and_drops_its_reply(redis_server: EmbeddedRedis, namespace: str) -> None:
    counter = f"{namespace}:counter"
    with TcpProxy(redis_server.port) as proxy, _client(proxy, redis_server) as client:
        proxy.drop_next_reply(b"INCR")
        client.get(counter)
        assert proxy.replies_dropped == 0
        with pytest.raises(redis.ConnectionError):
            client.incr(counter)
        assert proxy.replies_dropped == 1
        assert client.get(counter) == b"1"
        assert client.incr(counter) == 2
        client.delete(counter)


def _client(proxy: TcpProxy, server: EmbeddedRedis, **options: object) -> redis.Redis:
    plain = server.client(**options)
    kwargs = plain.connection_pool.connection_kwargs | {"port": proxy.port}
    return redis.Redis.from_pool(redis.ConnectionPool(**kwargs))


def _socket(proxy: TcpProxy, server: EmbeddedRedis) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", proxy.port), timeout=60)
    connection.sendall(f"AUTH {server.password}\r\n".encode())
    assert connection.recv(100) == b"+OK\r\n"
    return connection


def _ping(connection: socket.socket) -> bytes:
    connection.sendall(b"PING\r\n")
    return connection.recv(100)
