"""A webhook: one POST, signed, to where it may go, within a time; a redirect is not followed."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import json
import socket
import ssl
import threading
import time
from typing import Any
from urllib.parse import urlsplit

from console.release import RELEASE

TIMEOUT_S = 10.0
"""Of the whole call."""
ADDRESSES_MOST = 4
_WORLD = ipaddress.IPv6Network("2000::/3")
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""Where a network without version 4 reaches it."""
SIGNATURE, TIMESTAMP = "X-RMQ-Signature", "X-RMQ-Timestamp"


class NotSent(Exception):
    """It did not arrive, as far as is known. The text names no address: that may hold a secret."""


def check_address(address: str) -> None:
    """Raises `ValueError` for what is no address of a webhook, in words of ours: Python's own repeat what is wrong."""
    if any(not each.isprintable() or each.isspace() for each in address):
        raise ValueError("must not hold blanks or line ends")
    if not address.isascii():  # what a request cannot be sent with
        raise ValueError("must be in ASCII: a host's name as xn--…, other characters as %…")
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise ValueError("has no host, or no port, that can be") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise ValueError("must be http://… or https://…, without a user name")
    if port == 0:
        raise ValueError("has no host, or no port, that can be")


def post(address: str, secret: str, body: dict[str, Any], private: bool) -> None:
    """Raises `NotSent`; also where the answer is none of 200 to 299."""
    data = json.dumps(body, separators=(",", ":")).encode()
    now = str(int(time.time()))
    headers = {"Content-Type": "application/json", "User-Agent": f"rmq-console/{RELEASE}", TIMESTAMP: now}
    if secret:
        headers[SIGNATURE] = "sha256=" + signature(secret, now, data)
    try:
        status = _post(address, data, headers, private)
    except NotSent:
        raise
    except TimeoutError:
        raise NotSent(f"no answer within {TIMEOUT_S:g} s") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NotSent(f"the connection failed ({type(error).__name__})") from None
    if not 200 <= status < 300:
        raise NotSent(
            f"the answer was {status}" + (", a redirect: those are not followed" if status // 100 == 3 else "")
        )


def signature(secret: str, timestamp: str, data: bytes) -> str:
    """HMAC-SHA256 of the time, a dot and the body, in hex."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + data, hashlib.sha256).hexdigest()


def _post(address: str, data: bytes, headers: dict[str, str], private: bool) -> int:
    parts = urlsplit(address)
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    assert parts.hostname is not None
    until = time.monotonic() + TIMEOUT_S
    held = [_connected(parts.hostname, port, private, until)]
    # A timeout of a socket is of each read: one byte now and then would hold us for ever.
    alarm = threading.Timer(max(0.0, until - time.monotonic()), lambda: _shut(held[0]))
    alarm.daemon = True
    alarm.start()
    try:
        if secure:
            context = ssl.create_default_context()
            held[0] = context.wrap_socket(held[0], server_hostname=parts.hostname, do_handshake_on_connect=False)
            held[0].do_handshake()  # type: ignore[attr-defined]
        connection = http.client.HTTPConnection(parts.hostname, port)
        connection.sock = held[0]
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        host = parts.netloc.rpartition("@")[2]
        connection.request("POST", target, data, {**headers, "Host": host, "Connection": "close"})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        if time.monotonic() >= until:
            raise TimeoutError from None
        raise
    finally:
        alarm.cancel()
        held[0].close()


def _connected(host: str, port: int, private: bool, until: float) -> socket.socket:
    """The addresses that were looked at are those it connects to: a name cannot say another one the second time. One
    after another, each with its share of the time."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    allowed = [each for each in found if private or _is_public(str(each[4][0]))][:ADDRESSES_MOST]
    if not allowed:
        raise NotSent("the address is in a private network, which this receiver may not be in")
    for left, (family, kind, protocol, _, address) in zip(range(len(allowed), 0, -1), allowed, strict=True):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(max(0.1, (until - time.monotonic()) / left))
            sock.connect(address)
            sock.settimeout(TIMEOUT_S)
        except OSError:
            sock.close()
            if left == 1:
                raise
        else:
            return sock
    raise AssertionError("unreachable")


def _is_public(address: str) -> bool:
    """Of version 6, what the world can reach alone; one that stands for an address of version 4 is what that one is."""
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if found in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF)
        if inner is not None:
            return _is_public(str(inner))
        if found not in _WORLD:
            return False
    return found.is_global and not found.is_multicast


def _shut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
