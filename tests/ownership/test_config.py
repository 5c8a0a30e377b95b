"""How to reach ZooKeeper: what is accepted, what kazoo is told, what is refused and how."""

from __future__ import annotations

import pytest
from kazoo.hosts import collect_hosts

from rmq_core import Listener, Topic, Worker
from rmq_core.errors import ConfigurationError
from rmq_core.ownership.config import ZooKeeperConfig


def test_hosts_alone_are_enough() -> None:
    config = ZooKeeperConfig.of("zoo1:2181,zoo2:2181/queues")
    assert config == ZooKeeperConfig("zoo1:2181,zoo2:2181/queues")
    assert config.kazoo_options() == {"hosts": "zoo1:2181,zoo2:2181/queues", "timeout": 10.0}
    assert not config.authenticates
    assert ZooKeeperConfig.of(config) is config


def test_hosts_may_be_ipv6_addresses() -> None:
    for given in ("[2001:db8::1]:2181,[2001:db8::2]:2182/queues", "zk://[2001:db8::1]:2181,[2001:db8::2]:2182/queues"):
        config = ZooKeeperConfig.of(given)
        assert collect_hosts(config.hosts) == ([("2001:db8::1", 2181), ("2001:db8::2", 2182)], "/queues")


def test_a_url_says_everything() -> None:
    url = (
        "zks://user:pa%3Ass@zoo1:2281,zoo2:2281/queues?session_timeout_ms=6000&grace_ms=0&ca=/ca.pem"
        "&certfile=/c.pem&keyfile=/k.pem&check_hostname=true"
    )
    config = ZooKeeperConfig.of(url)
    assert config.authenticates
    assert (config.session_timeout_ms, config.grace_ms) == (6_000, 0)
    assert config.kazoo_options() == {
        "hosts": "zoo1:2281,zoo2:2281/queues",
        "timeout": 6.0,
        "auth_data": [("digest", "user:pa:ss")],
        "use_ssl": True,
        "ca": "/ca.pem",
        "certfile": "/c.pem",
        "keyfile": "/k.pem",
        "keyfile_password": None,
        "verify_certs": True,
        "check_hostname": True,
    }


def test_sasl_takes_the_credentials_and_its_own_options() -> None:
    config = ZooKeeperConfig.of("zk://user:secret@zoo:2181?sasl=DIGEST-MD5&sasl_service=queues")
    assert config.kazoo_options()["sasl_options"] == {
        "mechanism": "DIGEST-MD5",
        "username": "user",
        "password": "secret",
        "service": "queues",
    }
    assert "auth_data" not in config.kazoo_options()
    assert ZooKeeperConfig("zoo:2181", sasl="GSSAPI").authenticates


def test_secrets_are_not_shown() -> None:
    config = ZooKeeperConfig("zoo:2181", username="user", password="hush", keyfile_password="hush")
    assert "hush" not in repr(config)


def test_the_environment_may_say_it() -> None:
    assert ZooKeeperConfig.from_env({}) is None
    assert ZooKeeperConfig.from_env({"ZOOKEEPER_URL": ""}) is None
    assert ZooKeeperConfig.from_env({"ZOOKEEPER_URL": "zk://zoo:2181"}) == ZooKeeperConfig("zoo:2181")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("", "hosts="),
        (",", "hosts="),
        ("zoo:port", "hosts="),
        ("zk://[::1:2181", "hosts="),
        ("zk://[::1]:2181,[::2:2182/q", "hosts="),
        (None, "zookeeper=None"),
        (7, "zookeeper=7"),
        ("http://zoo:2181", "scheme 'http'"),
        ("zk://zoo:2181?speed=high", "unknown field 'speed'"),
        ("zk://zoo:2181?hosts=other", "unknown field 'hosts'"),
        ("zk://zoo:2181?tls=perhaps", "tls='perhaps'"),
        ("zk://zoo:2181?grace_ms=-1", "grace_ms='-1'"),
        ("zk://zoo:2181?session_timeout_ms=5", "session_timeout_ms=5"),
        ("zk://zoo:2181?check_hostname=1&verify_certs=0", "check_hostname needs verify_certs"),
    ],
)
def test_what_cannot_be_is_refused(given: object, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        ZooKeeperConfig.of(given)


@pytest.mark.parametrize(
    "fields",
    [
        {"username": "user"},
        {"password": "secret"},
        {"session_timeout_ms": True},
        {"heal_ms": 0},
        {"connect_timeout_ms": "1"},
        {"tls": "yes"},
        {"verify_certs": None},
    ],
)
def test_wrong_fields_are_named(fields: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(fields)).split("_")[0]):
        ZooKeeperConfig("zoo:2181", **fields)


def _worker(**options: object) -> Worker:
    return Worker(listeners=[Listener("work", print, Topic("work", "priority"))], **options)


def test_a_worker_takes_its_name_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RMQ_WORKER_NAME", "worker-7")
    assert _worker().name == "worker-7"
    assert _worker(name="ann").name == "ann"
    monkeypatch.delenv("RMQ_WORKER_NAME")
    assert _worker().name != _worker().name


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"zookeeper": 7}, "zookeeper=7"),
        ({"zookeeper": "zoo:2181", "namespace": "zookeeper"}, "ZooKeeper's own"),
        ({"name": "a\nb"}, "worker name"),
        ({"weight": 0}, "weight=0"),
        ({"weight": "1"}, "weight='1'"),
    ],
)
def test_a_worker_refuses_what_cannot_be(options: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        _worker(**options)
