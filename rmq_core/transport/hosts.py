"""URLs that name several hosts, IPv6 addresses among them."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

PORTS = range(1, 65_536)

# Not urlsplit: newer Pythons take a list of hosts with an IPv6 address in it for one malformed host.
_PARTS = re.compile(r"([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)
_HOST = re.compile(r"\[([^\[\]]+)\]|[^\[\]:]+")


class Parts(NamedTuple):
    """What stands behind ``scheme://``; no credentials: both None."""

    username: str | None
    password: str | None
    hosts: str
    path: str
    query: str


def parts(rest: str) -> Parts:
    """Takes ``[user:password@]host:port,host:port/path?query`` apart."""
    authority, path, query = _PARTS.fullmatch(rest).groups(default="")  # type: ignore[union-attr]
    credentials, separator, hosts = authority.rpartition("@")
    username, _, password = credentials.partition(":")
    if not separator:
        return Parts(None, None, hosts, path, query)
    return Parts(unquote(username), unquote(password), hosts, path, query)


def host_and_port(text: str) -> tuple[str, int] | None:
    """Of ``name:1``, ``192.0.2.1:1`` or ``[2001:db8::1]:1``; None where it is none of them."""
    name, _, port = text.rpartition(":")
    host = _HOST.fullmatch(name)
    number = whole(port)
    if host is None or number is None or number not in PORTS:
        return None
    return host[1] or name, number


def whole(text: str) -> int | None:
    """A whole number in ASCII digits."""
    return int(text) if text.isascii() and text.isdigit() else None
