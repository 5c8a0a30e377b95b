"""Starts worker processes that die of their messages again and again, as a supervisor would."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from rmq_core import RMQ, Control, Inspector, PriorityMessage
from rmq_core.ownership.config import ZooKeeperConfig
from tests.engine.worker.poison_program import DIED, main, topic
from tests.support.programs import Program
from tests.support.waiting import wait_until


class Supervisor:
    """So many workers over some topics; as a context manager it ends them and deletes the topics."""

    def __init__(
        self,
        redis_url: str,
        namespace: str,
        zookeeper: ZooKeeperConfig | None,
        *,
        workers: int,
        flavour: str = "plain",
        topics: Iterable[str] = ("work",),
        slots: int = 1,
        work_ms: float = 0.5,
    ) -> None:
        self.rmq = RMQ(redis_url, namespace)
        self.inspector, self.control = Inspector(self.rmq), Control(self.rmq)
        self.namespace, self.topics = namespace, tuple(topics)
        self.deaths = 0
        self._about: dict[str, Any] = {"redis": redis_url, "namespace": namespace, "topics": self.topics}
        self._about |= {"slots": slots, "flavour": flavour, "work_ms": work_ms}
        self._about["zookeeper"] = zookeeper
        self._workers = workers
        self.processes: dict[str, Program] = {}
        self._logs = tempfile.TemporaryDirectory(prefix="poison-")
        self.sent: Counter[str] = Counter()
        for name in self.topics:
            self.rmq.define(topic(name, slots))

    def send(self, name: str, count: int, *killers: str) -> None:
        """Harmless ones, the killers spread among them, all of one priority."""
        contents = [f"m{i}" for i in range(count)]
        for at, killer in enumerate(killers, 1):
            contents.insert(at * count // (len(killers) + 1), killer)
        self.rmq.send_many(name, [PriorityMessage(content, 20) for content in contents])
        self.sent[name] += len(contents)

    def keep_running(self) -> None:
        """Starts who is not there; raises where one ended that should not have."""
        for number in range(self._workers):
            name = f"w{number}"
            process = self.processes.get(name)
            if process is not None and process.poll() is None:
                continue
            if process is not None:
                assert process.returncode in {DIED, -9}, self.log(name)
                self.deaths += 1
            self.processes[name] = Program(main, self._about | {"name": name}, Path(self._logs.name) / name)

    def log(self, name: str) -> str:
        return (Path(self._logs.name) / name).read_text(errors="replace")[-4_000:]

    def done(self) -> set[str]:
        return {entry.decode() for entry in self.rmq.connection.client.lrange(f"{self.namespace}:done", 0, -1)}

    def dead(self) -> dict[str, int]:
        """The dead letters, and how often each has failed."""
        found = {}
        for name in self.topics:
            for view in self.inspector.messages(name, "dead").rows:
                found[f"{name}/{view.ref.id}"] = view.failures
        return found

    def _finished(self) -> bool:
        self.keep_running()
        samples = self.inspector.sample(self.topics)
        return all(sample.counters.acked + sample.counters.died >= self.sent[sample.topic.name] for sample in samples)

    def run(self, timeout_s: float = 120) -> None:
        """Until every message has succeeded or is dead."""
        wait_until(self._finished, timeout_s=timeout_s, what="all to be done or dead")
        for sample in self.inspector.sample(self.topics):
            assert (sample.backlog, sample.prepare, sample.ledger_gap) == (0, 0, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        for name, process in self.processes.items():
            process.kill()
            process.wait()
            if kind is not None:
                print(f"--- {name}\n{self.log(name)}")
        for name in self.topics:
            self.control.delete_topic(name, force=True)
        for key in ("done", "workers", "wishes"):
            self.rmq.connection.client.delete(f"{self.namespace}:{key}")
        self.rmq.close()
        self._logs.cleanup()
