"""The options a server URL may carry after its ``?``; anything else is an error, never ignored."""

from __future__ import annotations

import difflib
import ssl
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from rmq_core.errors import ConfigurationError

SENTINEL = "sentinel_"
"""What begins so is for the connections to the Sentinels themselves."""

_TLS_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
_TLS_VERSIONS |= {str(version.value): version for version in _TLS_VERSIONS.values()}  # as redis-py itself wants it


class Options(NamedTuple):
    """redis-py's arguments, for the servers and for the Sentinels."""

    servers: dict[str, Any]
    sentinels: dict[str, Any]


def _flag(text: str) -> bool:
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError("true or false")


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 86_400:
        raise ValueError("a number of seconds, above 0")
    return value


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ValueError("a whole number")
    return int(text)


def _text(text: str) -> str:
    if not text:
        raise ValueError("not empty")
    return text


def _one_of(*values: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in values:
            raise ValueError(f"one of {', '.join(values)}")
        return text

    return read


def _protocol(text: str) -> int:
    return int(_one_of("2", "3")(text))


def _tls_version(text: str) -> ssl.TLSVersion:
    found = _TLS_VERSIONS.get(text.lower().removeprefix("tlsv").replace("_", "."))
    if found is None:
        raise ValueError("1.2 or 1.3")
    return found


_ANY: Mapping[str, Callable[[str], Any]] = {
    "username": _text,
    "password": _text,
    "client_name": _text,
    "socket_timeout": _seconds,
    "socket_connect_timeout": _seconds,
    "health_check_interval": _count,
    "protocol": _protocol,
}
_NETWORK: Mapping[str, Callable[[str], Any]] = {"socket_keepalive": _flag}
_TLS: Mapping[str, Callable[[str], Any]] = {
    "ssl_ca_certs": _text,
    "ssl_ca_path": _text,
    "ssl_ca_data": _text,
    "ssl_certfile": _text,
    "ssl_keyfile": _text,
    "ssl_password": _text,
    "ssl_cert_reqs": _one_of("required", "optional", "none"),
    "ssl_check_hostname": _flag,
    "ssl_min_version": _tls_version,
    "ssl_ciphers": _text,
}
_DB: Mapping[str, Callable[[str], Any]] = {"db": _count}
_SSL: Mapping[str, Callable[[str], Any]] = {"ssl": _flag}
_SENTINELS = {SENTINEL + name: read for name, read in {**_ANY, **_NETWORK, **_TLS, **_SSL}.items()}

_NO_CLUSTER = {"ssl_ca_path", "ssl_password", "ssl_ciphers"}  # unknown to redis-py's asyncio client of a Cluster

KNOWN: Mapping[str, Mapping[str, Callable[[str], Any]]] = {
    "redis": {**_ANY, **_NETWORK, **_DB},
    "rediss": {**_ANY, **_NETWORK, **_DB, **_TLS},
    "unix": {**_ANY, **_DB},
    "cluster": {**_ANY, **_NETWORK, **_SSL, **{name: read for name, read in _TLS.items() if name not in _NO_CLUSTER}},
    "sentinel": {**_ANY, **_NETWORK, **_DB, **_SSL, **_TLS, **_SENTINELS},
}


def read_options(scheme: str, query: str) -> Options:
    """The options of a URL. Raises `ConfigurationError`; its text never holds a value, for that may be a secret."""
    found: dict[str, Any] = {}
    known = KNOWN[scheme]
    for name, value in parse_qsl(query, keep_blank_values=True):
        read = known.get(name)
        if read is None:
            raise ConfigurationError(_unknown(scheme, name))
        if name in found:
            raise ConfigurationError(f"the option {name} stands twice in the Redis URL")
        try:
            found[name] = read(value)
        except ValueError as error:
            raise ConfigurationError(f"the option {name} in the Redis URL must be {error}") from None
    return _divided(scheme, found)


def _unknown(scheme: str, name: str) -> str:
    known = KNOWN[scheme]
    if name == "max_connections":
        return f"the option {name} would make calls fail that only have to wait: bound the threads that share a client"
    if any(name in each for each in KNOWN.values()):
        fits = ", ".join(f"{each}://" for each, names in KNOWN.items() if name in names)
        return f"the option {name} in the Redis URL is of no use with {scheme}://; it is for {fits}"
    near = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean {near[0]}?" if near else f"; {scheme}:// knows {', '.join(known)}"
    return f"unknown option {name!r} in the Redis URL{hint}"


def _divided(scheme: str, found: dict[str, Any]) -> Options:
    tls = {name for name in found if name in _TLS}
    if scheme in {"cluster", "sentinel"} and tls and not found.get("ssl"):
        raise ConfigurationError(f"the option {sorted(tls)[0]} in the Redis URL needs ssl=true")
    servers = {name: value for name, value in found.items() if not name.startswith(SENTINEL)}
    if not servers.get("ssl"):
        servers.pop("ssl", None)
    own = {name.removeprefix(SENTINEL): value for name, value in found.items() if name.startswith(SENTINEL)}
    # TLS for the servers is TLS for their Sentinels, with the same files, unless they are given their own.
    shared = {name: servers[name] for name in ("ssl", *tls) if name in servers} if own.get("ssl", True) else {}
    sentinels = {**shared, **own}
    if any(name in _TLS for name in own) and not sentinels.get("ssl"):
        raise ConfigurationError("an option sentinel_ssl_… in the Redis URL needs ssl=true or sentinel_ssl=true")
    if not sentinels.get("ssl"):
        sentinels.pop("ssl", None)
    return Options(servers, sentinels)
