"""Worker processes, a load, and the questions that every fault test asks at its end."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Self

from rmq_core import RMQ, Control, FixedTimeMessage, Inspector, StreamMessage
from rmq_core.ownership.config import ZooKeeperConfig
from tests.ownership.checker import Entry, Verdict, check
from tests.ownership.expiry import expire
from tests.ownership.program import DIED, GROUP, MAX_RETRIES, TOPIC, main, topic
from tests.support.programs import Program
from tests.support.waiting import wait_until


class Fleet:
    """Workers by name, over one topic; as a context manager it ends them all and removes what they left."""

    def __init__(
        self,
        redis_url: str,
        namespace: str,
        zookeeper: ZooKeeperConfig | None,
        *,
        slots: int = 32,
        bases: int = 200,
        visibility_timeout_ms: int = 5_000,
        work_ms: float = 1.0,
        threads: int = 4,
        grace_ms: int = 10_000,
        worker_url: str | None = None,
        max_retries: int = MAX_RETRIES,
        kind: str = "fixed-time",
    ) -> None:
        self.namespace = namespace
        self.slots = slots
        self.bases = bases
        self.config = zookeeper
        self.rmq = RMQ(redis_url, namespace)
        self.redis = self.rmq.connection.client
        self.inspector = Inspector(self.rmq)
        self.control = Control(self.rmq)
        self.workers: dict[str, Program] = {}
        self.sent = 0
        self._options = {
            "redis": worker_url or redis_url,
            "namespace": namespace,
            "slots": slots,
            "visibility_timeout_ms": visibility_timeout_ms,
            "work_ms": work_ms,
            "threads": threads,
            "grace_ms": grace_ms,
            "max_retries": max_retries,
            "kind": kind,
        }
        self.kind = kind
        self.queue = f"{TOPIC}@{GROUP}" if kind == "stream" else TOPIC
        """What is consumed: the topic, or a group of it."""
        self._numbers = [0] * bases
        self.rmq.define(topic(slots, visibility_timeout_ms, max_retries, kind))
        if kind == "stream":
            self.rmq.define_group(TOPIC, GROUP)
        self._logs = tempfile.TemporaryDirectory(prefix="fleet-")

    # -- workers

    def start(
        self, *names: str, weight: int = 1, zookeeper: ZooKeeperConfig | None = None, clock_ahead_h: float = 0
    ) -> None:
        """Starts workers; they are there when they own something: `owned_by`."""
        config = zookeeper or self.config
        for name in names:
            about = self._options | {"name": name, "weight": weight, "zookeeper": config}
            about["clock_ahead_h"] = clock_ahead_h
            self.workers[name] = Program(main, about, self._log(name))

    def _log(self, name: str) -> Path:
        return Path(self._logs.name) / f"{name}.log"

    def log(self, name: str) -> str:
        """What a worker said."""
        return self._log(name).read_text(errors="replace")

    def stop(self, *names: str) -> None:
        """SIGTERM, and waits for the end."""
        for name in names:
            self.workers[name].terminate()
        for name in names:
            assert self.workers.pop(name).wait(30) == 0, self.log(name)

    def kill(self, name: str) -> None:
        """SIGKILL."""
        process = self.workers.pop(name)
        process.kill()
        process.wait()

    def start_the_dead(self) -> int:
        """Starts again whom a message has killed; how many that were."""
        ended = [name for name, process in self.workers.items() if process.poll() is not None]
        for name in ended:
            assert self.workers.pop(name).returncode == DIED, self.log(name)
            self.start(name)
        return len(ended)

    def freeze(self, name: str) -> None:
        """SIGSTOP; when this returns, none of its threads runs any more."""
        pid = self.workers[name].pid
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: _threads(pid) <= {"T"}, what=f"every thread of {name} to stand still")

    def freeze_in_a_call(self, name: str) -> None:
        """The same, at a moment at which one of its listeners runs."""

        def caught() -> bool:
            self.freeze(name)
            self.redis.ping()  # what it had sent before is read by the server no later than this is
            entries = [Entry.read(line) for line in self.redis.lrange(f"{self.namespace}:log", 0, -1)]
            running = Counter(-1 if entry.event != "start" else 1 for entry in entries if entry.worker == name)
            if running[1] > running[-1]:
                return True
            self.thaw(name)
            return False

        wait_until(caught, timeout_s=60, what=f"a call of {name} to be caught")

    def thaw(self, name: str) -> None:
        """SIGCONT."""
        os.kill(self.workers[name].pid, signal.SIGCONT)

    def expire(self, name: str) -> None:
        """Ends the ZooKeeper session of a worker that knows nothing of it."""
        number, password = self.redis.hget(f"{self.namespace}:sessions", name).decode().split()
        expire(self.config, (int(number), bytes.fromhex(password)))

    # -- slots

    def owners(self) -> dict[int, str | None]:
        """Who has each slot, as the owners say."""
        return {owner.slot: owner.worker for owner in self.inspector.assignment(self.queue)}

    def owned_by(self, *names: str, timeout_s: float = 120, even: bool = True) -> float:
        """Waits until these workers, and only these, own and run every slot; how long that took."""
        began = time.monotonic()
        wait_until(lambda: self._settled(set(names), even), timeout_s=timeout_s, what=f"all slots to be with {names}")
        return time.monotonic() - began

    def _settled(self, names: set[str], even: bool) -> bool:
        owners = self.owners()
        if set(owners.values()) != names:
            return False
        counts = [list(owners.values()).count(name) for name in names]
        return not even or max(counts) - min(counts) <= 1

    def epochs(self) -> dict[int, str | None]:
        """The epoch of each slot."""
        return {owner.slot: owner.epoch for owner in self.inspector.assignment(self.queue)}

    def epochs_seen(self) -> dict[int, str]:
        """The latest epoch under which a message of each slot was begun."""
        seen = self.redis.hgetall(f"{self.namespace}:epochs")
        return {int(slot): epoch.decode() for slot, epoch in seen.items()}

    # -- load

    def send(self, count: int, in_ms: int = 20) -> None:
        """So many messages, the next numbers of each basis in turn; all due at one moment, in order of acceptance.

        That is a little later, or none could be early.
        """
        now_ms = self.inspector.now_ms() + in_ms
        messages: list[Any] = []
        for _ in range(count):
            basis = self.sent % self.bases
            ident = f"{basis}/{self._numbers[basis]}"
            self._numbers[basis] += 1
            self.sent += 1
            if self.kind == "stream":
                messages.append(StreamMessage(ident, slot_basis=str(basis)))
            else:
                messages.append(FixedTimeMessage(ident, now_ms, slot_basis=str(basis)))
        self.rmq.send_many(TOPIC, messages, allow_past=True)

    def done(self) -> int:
        """How many messages were acknowledged."""
        (sample,) = self.inspector.sample([self.queue])
        return sample.counters.acked

    def early(self) -> int:
        """How many calls began before their message's time, by the clock of Redis."""
        return int(self.redis.get(f"{self.namespace}:early") or 0)

    def died(self) -> int:
        """How often a message became a dead letter."""
        (sample,) = self.inspector.sample([self.queue])
        return sample.counters.died

    def wait_done(self, count: int | None = None, timeout_s: float = 150) -> None:
        """Waits until so many (None: all) are acknowledged."""
        wanted = self.sent if count is None else count
        wait_until(lambda: self.done() >= wanted, timeout_s=timeout_s, what=f"{wanted} messages to be done")

    def works_again(self, timeout_s: float = 150) -> float:
        """Waits until every worker says it is connected, all slots are owned, and each slot has worked off a
        message sent from now on; how long that took."""
        began = time.monotonic()
        names = set(self.workers)
        wait_until(lambda: self.connected(names), timeout_s=timeout_s, what="all to be connected again")
        self.owned_by(*names, timeout_s=timeout_s)
        marked = self.sent
        self.send(self.bases)
        self.wait_done(marked + self.bases, timeout_s)
        return time.monotonic() - began

    def connected(self, names: set[str]) -> bool:
        return {worker.name for worker in self.inspector.workers() if worker.session == "connected"} >= names

    # -- verdict

    def verdict(self) -> Verdict:
        """After everything is done: nothing lost, nothing doubled in the ledger, nothing left; what the calls say."""
        self.wait_done()
        (sample,) = self.inspector.sample([self.queue])
        assert sample.counters.acked == self.sent
        assert (sample.backlog, sample.prepare, sample.dead, sample.ledger_gap) == (0, 0, 0, 0)
        verdict = check(self.redis.lrange(f"{self.namespace}:log", 0, -1))
        assert verdict.messages == self.sent
        assert not verdict.unfinished
        assert not self.early()
        return verdict

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        for name, process in self.workers.items():
            if kind is not None:
                print(f"--- {name}\n{self.log(name)[-4000:]}")
            process.kill()
            process.wait()
        self.control.delete_topic(TOPIC, force=True)
        for key in ("log", "lines", "epochs", "early", "sessions", "workers", "wishes"):
            self.redis.delete(f"{self.namespace}:{key}")
        self.rmq.close()
        self._logs.cleanup()


def _threads(pid: int) -> set[str]:
    """The states of a process's threads, as Linux writes them: ``T`` is stopped."""
    files = Path(f"/proc/{pid}/task").glob("*/stat")
    return {file.read_text().rpartition(")")[2].split()[0] for file in files}
