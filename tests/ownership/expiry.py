"""Ending somebody else's session."""

from __future__ import annotations

import socket

from kazoo.hosts import collect_hosts
from kazoo.protocol.serialization import Close, Connect, int_int_struct, int_struct

from rmq_core.ownership.config import ZooKeeperConfig
from tests.support.waiting import PATIENCE_S

SESSION_MS = 10_000


def expire(config: ZooKeeperConfig, client_id: tuple[int, bytes]) -> None:
    """Ends a session behind the back of its client.

    That it comes and goes is said at once: its owner takes the session back as soon as it sees it lost, and on a busy
    machine that may be before a thief who waits for an answer could end it.
    """
    comes = Connect(0, 0, SESSION_MS, *client_id, False).serialize()
    goes = int_int_struct.pack(1, Close.type)
    said = b"".join(int_struct.pack(len(each)) + bytes(each) for each in (comes, goes))
    hosts, _ = collect_hosts(config.hosts)
    with _connected(hosts) as thief:
        thief.sendall(said)
        answered = bytearray()
        while some := thief.recv(4096):
            answered += some
    _, _, timeout_ms = (int_struct.unpack_from(answered, at)[0] for at in (0, 4, 8))
    assert timeout_ms > 0, "the session had ended before"


def _connected(hosts: list[tuple[str, int]]) -> socket.socket:
    """To the first that is up."""
    for host, port in hosts[:-1]:
        try:
            return socket.create_connection((host, port), timeout=PATIENCE_S)
        except OSError:
            continue
    return socket.create_connection(hosts[-1], timeout=PATIENCE_S)
