"""Other queues on Redis, measured like ours; see README.md."""

from benchmarks.peers.catalogue import PEERS, Peer
from benchmarks.peers.environments import InstallFailed, Unavailable
from benchmarks.peers.runner import PreparedPeer, prepared

__all__ = ["PEERS", "InstallFailed", "Peer", "PreparedPeer", "Unavailable", "prepared"]
