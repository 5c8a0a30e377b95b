"""Ending somebody else's session."""

from __future__ import annotations

from kazoo.client import KazooClient

from rmq_core.ownership.config import ZooKeeperConfig


def expire(config: ZooKeeperConfig, client_id: tuple[int, bytes]) -> None:
    """Ends a session behind the back of its client."""
    thief = KazooClient(config.hosts, client_id=client_id)
    thief.start(120)  # a busy machine
    thief.stop()
    thief.close()
