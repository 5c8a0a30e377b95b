"""How to reach ZooKeeper, and the times that go with it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import parse_qsl

from rmq_core.errors import ConfigurationError, SettingRefused
from rmq_core.model.text import NotText, check_unicode
from rmq_core.transport.hosts import parts

ENVIRONMENT = ("RMQ_ZOOKEEPER_URL", "ZOOKEEPER_URL")
_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


def _collect_hosts(hosts: str) -> None:
    """Raises `ValueError` for what is no list of hosts. The client is an extra: only who uses ZooKeeper needs it."""
    try:
        from kazoo.hosts import collect_hosts
    except ModuleNotFoundError:
        raise SettingRefused(
            "one owner per slot needs the ZooKeeper client: pip install 'rmq-console[zookeeper]'"
        ) from None
    collect_hosts(hosts)


@dataclass(frozen=True, slots=True)
class ZooKeeperConfig:
    """An ensemble, credentials and times. Raises `ConfigurationError`.

    ``hosts``: ``host:port,host:port[/chroot]``; the chroot must exist. ``session_timeout_ms``: how long a silent
    worker keeps its slots; the servers may grant more or less. ``connect_timeout_ms``: how long a start waits for
    them. ``grace_ms``: how long a worker that left is given its old slots back when it returns. ``heal_ms``: how
    often what was read is read again, for watches get lost.

    ``username`` and ``password`` authenticate by the ``digest`` scheme, or by SASL where ``sasl`` names a mechanism
    (``DIGEST-MD5``, ``GSSAPI``, …; ``sasl_options`` are passed on). With any of them only their owner may touch the
    nodes we make. ``tls`` and what follows it: as kazoo has them.
    """

    hosts: str
    session_timeout_ms: int = 10_000
    connect_timeout_ms: int = 15_000
    grace_ms: int = 60_000
    heal_ms: int = 3_000
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    sasl: str | None = None
    sasl_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    tls: bool = False
    ca: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    keyfile_password: str | None = field(default=None, repr=False)
    verify_certs: bool = True
    check_hostname: bool = False

    def __post_init__(self) -> None:
        self._check_texts()
        self._check_hosts()
        for name, low, high in (
            ("session_timeout_ms", 200, 600_000),
            ("connect_timeout_ms", 100, 600_000),
            ("grace_ms", 0, 86_400_000),
            ("heal_ms", 100, 600_000),
        ):
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                raise ConfigurationError(f"{name}={value!r} must be a whole number from {low} to {high}")
        for each in ("tls", "verify_certs", "check_hostname"):
            if type(getattr(self, each)) is not bool:
                raise ConfigurationError(f"{each}={getattr(self, each)!r} must be true or false")
        if (self.username is None) != (self.password is None) and self.sasl != "GSSAPI":
            raise ConfigurationError("ZooKeeper needs a username and a password, or neither")
        if self.check_hostname and not self.verify_certs:
            raise ConfigurationError("check_hostname needs verify_certs")

    def _check_texts(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, str):
                try:
                    check_unicode(value)
                except NotText as error:
                    raise ConfigurationError(f"{each.name} of ZooKeeper {error}") from None

    def _check_hosts(self) -> None:
        if not isinstance(self.hosts, str) or not self.hosts:
            raise ConfigurationError(f"hosts={self.hosts!r} must be host:port[,host:port…][/chroot]")
        try:
            _collect_hosts(self.hosts)
        except ValueError as error:
            raise ConfigurationError(f"hosts={self.hosts!r} must be host:port[,host:port…][/chroot]: {error}") from None

    @property
    def authenticates(self) -> bool:
        """Whether credentials are given, and so our nodes are closed to others."""
        return self.username is not None or self.sasl is not None

    def kazoo_options(self) -> dict[str, Any]:
        """The arguments of `KazooClient`, but for retries and access lists."""
        options: dict[str, Any] = {"hosts": self.hosts, "timeout": self.session_timeout_ms / 1000}
        if self.sasl is not None:
            credentials = {"username": self.username, "password": self.password} if self.username else {}
            options["sasl_options"] = {"mechanism": self.sasl, **credentials, **self.sasl_options}
        elif self.username is not None:
            options["auth_data"] = [("digest", f"{self.username}:{self.password}")]
        if self.tls:
            options |= {
                "use_ssl": True,
                "ca": self.ca,
                "certfile": self.certfile,
                "keyfile": self.keyfile,
                "keyfile_password": self.keyfile_password,
                "verify_certs": self.verify_certs,
                "check_hostname": self.check_hostname,
            }
        return options

    @classmethod
    def of(cls, given: str | ZooKeeperConfig) -> ZooKeeperConfig:
        """From ``host:port,…`` or ``zk://[user:password@]host:port,…[/chroot][?field=value&…]`` (``zks://``: TLS)."""
        if isinstance(given, ZooKeeperConfig):
            return given
        if not isinstance(given, str):
            raise ConfigurationError(f"zookeeper={given!r} must be 'host:port,…', a zk:// URL or a ZooKeeperConfig")
        scheme, separator, rest = given.partition("://")
        if not separator:
            return cls(given)
        if scheme not in {"zk", "zks"}:
            raise ConfigurationError(f"unknown ZooKeeper URL scheme {scheme!r}; it must be zk:// or zks:// (TLS)")
        username, password, hosts, path, query = parts(rest)
        values: dict[str, Any] = {"hosts": hosts + path.rstrip("/")}
        if scheme == "zks":
            values["tls"] = True
        if username or password:
            values |= {"username": username, "password": password}
        return cls(**values, **cls._read(parse_qsl(query, keep_blank_values=True)))

    @classmethod
    def _read(cls, pairs: list[tuple[str, str]]) -> dict[str, Any]:
        kinds = {each.name: each.type for each in fields(cls)}
        for name in ("hosts", "username", "password", "sasl_options"):
            del kinds[name]
        values: dict[str, Any] = {}
        options: dict[str, str] = {}
        for name, text in pairs:
            if name.startswith("sasl_"):
                options[name.removeprefix("sasl_")] = text
            elif name not in kinds:
                raise ConfigurationError(f"unknown field {name!r} in the ZooKeeper URL; known: {', '.join(kinds)}")
            else:
                values[name] = _value(name, text, str(kinds[name]))
        return values | ({"sasl_options": options} if options else {})

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> ZooKeeperConfig | None:
        """What ``RMQ_ZOOKEEPER_URL`` says, or ``ZOOKEEPER_URL``; None where neither is set."""
        given = next(filter(None, map(environ.get, ENVIRONMENT)), "")
        return cls.of(given) if given else None


def _value(name: str, text: str, kind: str) -> Any:
    if kind == "int":
        if not text.isdecimal():
            raise ConfigurationError(f"{name}={text!r} in the ZooKeeper URL must be a whole number")
        return int(text)
    if kind == "bool":
        if text.lower() not in _TRUE | _FALSE:
            raise ConfigurationError(f"{name}={text!r} in the ZooKeeper URL must be true or false")
        return text.lower() in _TRUE
    return text
