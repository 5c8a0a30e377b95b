"""A server URL means what it says, or is refused with words of our own."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rmq_core.errors import ConfigurationError
from rmq_core.transport.redis_url import RedisURL

names = st.from_regex(r"[a-z][a-z0-9.-]{0,20}[a-z0-9]", fullmatch=True) | st.just("10.0.0.7") | st.just("[::1]")
hosts = st.lists(st.tuples(names, st.integers(1, 65_535)), min_size=1, max_size=4)
secrets = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=1, max_size=12)


def hosts_text(several: list[tuple[str, int]]) -> str:
    return ",".join(f"{name}:{port}" for name, port in several)


@given(
    hosts, st.from_regex(r"[A-Za-z][\w.-]{0,20}", fullmatch=True).filter(str.isascii), st.none() | st.integers(0, 15)
)
def test_sentinel(several: list[tuple[str, int]], service: str, db: int | None) -> None:
    target = RedisURL(f"sentinel://{hosts_text(several)}/{service}" + ("" if db is None else f"/{db}"))
    assert target.hosts == [(name.strip("[]"), port) for name, port in several]
    assert (target.service, target.options["db"], target.is_cluster) == (service, db or 0, False)


@given(hosts, secrets, secrets, st.sampled_from(["cluster", "redis+cluster"]))
def test_cluster_with_any_password(several: list[tuple[str, int]], user: str, password: str, scheme: str) -> None:
    credentials = f"{quote(user, safe='')}:{quote(password, safe='')}"
    target = RedisURL(f"{scheme}://{credentials}@{hosts_text(several)}?ssl=true")
    assert target.is_cluster
    assert target.options == {"username": user, "password": password, "ssl": True}
    assert target.hosts == [(name.strip("[]"), port) for name, port in several]


@given(st.sampled_from(["sentinel", "cluster", "redis", "rediss", "unix", "http", ""]), st.text(max_size=30))
@example("sentinel", "[::1")
@example("cluster", "host:²")
@example("cluster", "host:99999999")
@example("sentinel", "host:1/service/²")
@example("redis", "host:port")
@example("redis", "host/²")
@example("redis", "[::1")
def test_anything_else_is_a_configuration_error(scheme: str, rest: str) -> None:
    """Opening does not connect yet, except for a Cluster."""
    try:
        target = RedisURL(f"{scheme}://{rest}")
        if not target.is_cluster:
            target.open().close()
    except ConfigurationError as error:
        assert str(error)
    else:
        assert all(1 <= port <= 65_535 for _, port in target.hosts)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (None, "must begin with redis://"),
        ("localhost:6379", "must begin with redis://"),
        ("http://localhost", "unknown Redis URL scheme 'http'"),
        ("cluster://localhost", "needs host:port"),
        ("cluster://", "needs host:port"),
        ("cluster://a:1,b", "needs host:port"),
        ("sentinel://a:1", "needs the service name"),
        ("sentinel://a:1/x/y", "needs the service name"),
        ("redis://a/0?sockettimeout=5", "did you mean socket_timeout"),
        ("redis://a/0?nonsense=1", "unknown option 'nonsense'"),
        ("redis://a/0?decode_responses=true", "unknown option"),
        ("redis://a/0?max_connections=4", "bound the threads that share a client"),
        ("redis://a/0?ssl_ca_certs=x", "of no use with redis://; it is for rediss://"),
        ("redis://a/x", "number of a database"),
        ("redis://a/1?db=2", "number of a database"),
        ("rediss://a/0?ssl_cert_reqs=maybe", "one of required, optional, none"),
        ("rediss://a/0?ssl_check_hostname=perhaps", "true or false"),
        ("unix:///x?ssl_ca_certs=x", "of no use with unix://"),
        ("unix:///x?nonsense=1", "unknown option"),
        ("cluster://a:1?db=1", "of no use with cluster://"),
        ("cluster://a:1?ssl_ca_certs=x", "needs ssl=true"),
        ("cluster://a:1?ssl=tru", "true or false"),
        ("cluster://a:1?sentinel_password=x", "of no use with cluster://"),
        ("sentinel://a:1/x?sentinel_passwort=x", "did you mean sentinel_password"),
        ("sentinel://a:1/x?ssl_keyfile=x", "needs ssl=true"),
        ("sentinel://a:1/x?sentinel_ssl_keyfile=x", "needs ssl=true"),
        ("sentinel://a:1/x?socket_timeout=0", "seconds, above 0"),
        ("sentinel://a:1/x?socket_timeout=1&socket_timeout=2", "stands twice"),
    ],
)
def test_the_error_says_what_is_missing(url: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        RedisURL(url)


def test_no_password_in_an_error() -> None:
    for url in ("cluster://user:hunter2@a", "sentinel://:hunter2@a:1", "ftp://u:hunter2@a"):
        with pytest.raises(ConfigurationError) as caught:
            RedisURL(url)
        assert "hunter2" not in str(caught.value)


def test_options_reach_redis_py() -> None:
    files = "ssl_ca_certs=/ca&ssl_certfile=/cert&ssl_keyfile=/key"
    target = RedisURL(f"sentinel://a:1/x/3?ssl=true&{files}&sentinel_password=p%40ss&sentinel_ssl_ca_certs=/other")
    tls = {"ssl": True, "ssl_certfile": "/cert", "ssl_keyfile": "/key"}
    assert target.options == {**tls, "ssl_ca_certs": "/ca", "db": 3}
    assert target.sentinel_options == {**tls, "ssl_ca_certs": "/other", "password": "p@ss"}
    assert RedisURL("sentinel://a:1/x?ssl=true&sentinel_ssl=false").sentinel_options == {}
    assert RedisURL("sentinel://a:1/x?sentinel_ssl=true").options == {"db": 0}
    for url in ("redis://u:p@h:1/2", "unix://u:p@/x?db=2", "rediss://h/2?ssl_cert_reqs=none&username=u&password=p"):
        client = RedisURL(url).open()
        kwargs = client.connection_pool.connection_kwargs
        assert (kwargs["db"], kwargs["username"], kwargs["password"]) == (2, "u", "p")
        client.close()


def test_no_secret_of_an_option_in_an_error() -> None:
    for url in ("redis://a?passwort=hunter2", "sentinel://a:1/x?password=hunter2&socket_timeout=hunter2"):
        with pytest.raises(ConfigurationError) as caught:
            RedisURL(url)
        assert "hunter2" not in str(caught.value)
