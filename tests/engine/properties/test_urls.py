"""A server URL means what it says, or is refused with words of our own."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rmq_core.errors import ConfigurationError
from rmq_core.target import Target

names = st.from_regex(r"[a-z][a-z0-9.-]{0,20}[a-z0-9]", fullmatch=True) | st.just("10.0.0.7") | st.just("[::1]")
hosts = st.lists(st.tuples(names, st.integers(1, 65_535)), min_size=1, max_size=4)
secrets = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=1, max_size=12)


def hosts_text(several: list[tuple[str, int]]) -> str:
    return ",".join(f"{name}:{port}" for name, port in several)


@given(
    hosts, st.from_regex(r"[A-Za-z][\w.-]{0,20}", fullmatch=True).filter(str.isascii), st.none() | st.integers(0, 15)
)
def test_sentinel(several: list[tuple[str, int]], service: str, db: int | None) -> None:
    target = Target(f"sentinel://{hosts_text(several)}/{service}" + ("" if db is None else f"/{db}"))
    assert target.hosts == [(name.strip("[]"), port) for name, port in several]
    assert (target.service, target.options["db"], target.is_cluster) == (service, db or 0, False)


@given(hosts, secrets, secrets, st.sampled_from(["cluster", "redis+cluster"]))
def test_cluster_with_any_password(several: list[tuple[str, int]], user: str, password: str, scheme: str) -> None:
    credentials = f"{quote(user, safe='')}:{quote(password, safe='')}"
    target = Target(f"{scheme}://{credentials}@{hosts_text(several)}?ssl=true")
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
        target = Target(f"{scheme}://{rest}")
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
    ],
)
def test_the_error_says_what_is_missing(url: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Target(url)


def test_no_password_in_an_error() -> None:
    for url in ("cluster://user:hunter2@a", "sentinel://:hunter2@a:1", "ftp://u:hunter2@a"):
        with pytest.raises(ConfigurationError) as caught:
            Target(url)
        assert "hunter2" not in str(caught.value)
