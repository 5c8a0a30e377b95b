"""The peers: what to install for each, and which program drives it."""

from __future__ import annotations

from dataclasses import dataclass

HIREDIS = "hiredis==3.5.0"
UVLOOP = "uvloop==0.23.0"


@dataclass(frozen=True)
class Peer:
    """`packages` are pinned requirements of the index that the `runtime` uses: python, node, or ours (no packages)."""

    name: str
    packages: tuple[str, ...]
    program: str
    runtime: str = "python"
    messages: int = 10_000
    """Messages of a full run: enough for a second of consuming or more."""


RMQ = "rmq"

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer(RMQ, (), "rmq_peer.py", "ours", messages=200_000),
        Peer("dramatiq", ("dramatiq==2.2.1", "redis==8.1.0", HIREDIS), "dramatiq_peer.py"),
        Peer("huey", ("huey==3.5.4", "redis==8.1.0", HIREDIS), "huey_peer.py"),
        Peer(
            "taskiq",
            ("taskiq==0.13.0", "taskiq-redis==1.2.4", "redis==8.1.0", HIREDIS, UVLOOP),
            "taskiq_peer.py",
        ),
        Peer("rq", ("rq==2.12.0", "redis==8.1.0", HIREDIS), "rq_peer.py", messages=3_000),
        Peer("celery", ("celery[redis]==5.7.0", "kombu==5.7.0", "redis==8.1.0", HIREDIS), "celery_peer.py"),
        Peer("saq", ("saq==0.26.4", "redis==7.4.1", "typing-extensions==4.16.0", HIREDIS, UVLOOP), "saq_peer.py"),
        Peer("pydocket", ("pydocket==0.27.0", "redis==8.1.0", HIREDIS, UVLOOP), "pydocket_peer.py"),
        Peer("arq", ("arq==0.28.0", "redis==5.3.1", HIREDIS, UVLOOP), "arq_peer.py"),
        Peer("bullmq", ("bullmq@6.7.0", "ioredis@6.0.0"), "bullmq_peer.cjs", "node", messages=50_000),
    )
}
