"""Runs the phases of a peer's program against a private Redis, and turns its answers into figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.harness import NotMeasured, PrivateRedis, percentile
from benchmarks.peers.catalogue import PEERS, Peer
from benchmarks.peers.environments import Runtime, prepare
from benchmarks.processes import ProgramFailed, output_of

CHUNK = 500
RATE = 200
DELAY_S = 2.0
FAR_S = 3600.0
TIMEOUT_S = 300.0
SENDER_LAG_MS = 1000.0
"""Every message is sent at least a second ahead; otherwise its lateness would be the sender's."""

UNITS = {
    "send": "/s",
    "bulk": "/s",
    "consume": "/s",
    "delayed p50": "ms",
    "delayed p99": "ms",
    "earliest": "ms",
    "waiting": "bytes",
    "delayed": "bytes",
}
"""Every figure of a round and its unit; a peer without bulk sending lacks that one."""


@dataclass(frozen=True)
class Sizes:
    """How many messages each phase handles."""

    messages: int
    delayed: int
    lateness: int


def sizes_for(peer: Peer, quick: bool) -> Sizes:
    if quick:
        return Sizes(messages=peer.messages // 5, delayed=2_000, lateness=2 * RATE)
    return Sizes(messages=peer.messages, delayed=10_000, lateness=10 * RATE)


@dataclass
class PreparedPeer:
    """A peer that is installed. Each method runs one phase in a fresh process and returns its answer."""

    peer: Peer
    runtime: Runtime
    facts: dict[str, Any] = field(default_factory=dict)
    """Versions, settings and guarantee, as the program reported them."""

    def send(self, server: PrivateRedis, count: int) -> float:
        """Messages per second, one by one; leaves `count` waiting."""
        return self._rate("send", server, count=count)

    def bulk(self, server: PrivateRedis, count: int, chunk: int = CHUNK) -> float | None:
        """Messages per second in bulks; leaves `count` waiting. None if the peer has no bulk send."""
        answer = self.run("bulk", server, count=count, chunk=chunk)
        if "unsupported" in answer:
            self.facts["no bulk"] = answer["unsupported"]
            return None
        return _per_second(answer)

    def consume(self, server: PrivateRedis, count: int) -> float:
        """Messages per second of one worker process, over `count` that are waiting already."""
        return self._rate("consume", server, count=count, timeout_s=TIMEOUT_S - 30)

    def lateness(self, server: PrivateRedis, count: int, rate: float = RATE) -> list[float]:
        """Milliseconds from due time to running, one per message; sent `rate` a second, two seconds ahead."""
        answer = self.run("lateness", server, count=count, rate=rate, delay_s=DELAY_S, timeout_s=TIMEOUT_S - 60)
        if len(answer["late_ms"]) != count:
            raise NotMeasured(f"{self.peer.name}: {len(answer['late_ms'])} of {count} delayed messages were seen")
        if answer["sender_behind_ms"] > SENDER_LAG_MS:
            raise NotMeasured(f"{self.peer.name}: the sender fell {answer['sender_behind_ms']:.0f} ms behind")
        return [float(one) for one in answer["late_ms"]]

    def run(self, phase: str, server: PrivateRedis, **options: Any) -> dict[str, Any]:
        """One phase by the protocol of README.md. Raises ProgramFailed."""
        command = [*self.runtime.command, phase, json.dumps(options)]
        env = self.runtime.environment | {"BENCH_URL": server.url}
        printed = output_of(command, env=env, cwd=self.runtime.cwd, timeout_s=TIMEOUT_S).strip().splitlines()
        try:
            answer: dict[str, Any] = json.loads(printed[-1])
        except (IndexError, ValueError) as error:
            raise ProgramFailed(f"{self.peer.name} {phase} did not print a line of JSON: {printed[-1:]}") from error
        self.facts |= {key: answer.pop(key) for key in ("versions", "settings", "guarantee")}
        return answer

    def round(self, server: PrivateRedis, sizes: Sizes) -> Mapping[str, float]:
        """Every figure once."""
        server.flush()
        empty = server.used_memory()
        figures = {"send": self.send(server, sizes.messages)}
        figures["waiting"] = (server.used_memory() - empty) / sizes.messages
        figures["consume"] = self.consume(server, sizes.messages)

        server.flush()
        bulk = self.bulk(server, sizes.messages)
        if bulk is not None:
            figures["bulk"] = bulk

        server.flush()
        empty = server.used_memory()
        self.run("delayed", server, count=sizes.delayed, delay_s=FAR_S)
        figures["delayed"] = (server.used_memory() - empty) / sizes.delayed

        server.flush()
        late_ms = self.lateness(server, sizes.lateness)
        figures["delayed p50"] = percentile(late_ms, 50)
        figures["delayed p99"] = percentile(late_ms, 99)
        figures["earliest"] = min(late_ms)
        server.flush()
        return {name: figures[name] for name in UNITS if name in figures}

    def _rate(self, phase: str, server: PrivateRedis, **options: Any) -> float:
        return _per_second(self.run(phase, server, **options))


def _per_second(answer: Mapping[str, Any]) -> float:
    if not answer["seconds"] > 0 or not answer["count"] > 0:
        raise NotMeasured(f"{answer['count']} messages in {answer['seconds']} s is no rate")
    return float(answer["count"]) / float(answer["seconds"])


def prepared(name: str) -> PreparedPeer:
    """The peer of that name, installed. Raises KeyError, Unavailable or InstallFailed."""
    peer = PEERS[name]
    return PreparedPeer(peer, prepare(peer))
