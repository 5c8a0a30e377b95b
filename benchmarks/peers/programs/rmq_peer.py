"""rmq_core itself, by the same protocol: what the ratios to the peers are taken from."""

from __future__ import annotations

import redis
from lab import URL, Program, knob, tally

from rmq_core import RMQ, Delivery, FixedTimeMessage, Inspector, Listener, PriorityMessage, Topic, TopicKind, Worker

SLOTS = int(knob("slots", 16))
LATE_SLOTS = int(knob("late_slots", 64))
NOW = Topic("now", TopicKind.PRIORITY, slots=SLOTS)
LATER = Topic("later", TopicKind.FIXED_TIME, slots=LATE_SLOTS)
PRIORITY = 100


def noop(delivery: Delivery) -> None:
    tally(delivery.text)


class Rmq(Program):
    packages = ("rmq-console",)
    settings = {
        "topics": f"priority with {SLOTS} slots, fixed-time with {LATE_SLOTS} for what is delayed",
        "worker": "plain listener called per message, defaults",
    }

    def open(self) -> None:
        self.rmq = RMQ(URL)
        for topic in (NOW, LATER):
            self.rmq.define(topic)

    def close(self) -> None:
        self.rmq.close()

    def send(self, payload: str) -> None:
        self.rmq.send(NOW.name, PriorityMessage(payload, PRIORITY))

    def send_bulk(self, payloads: list[str]) -> None:
        self.rmq.send_many(NOW.name, [PriorityMessage(one, PRIORITY) for one in payloads])

    def delay(self, payload: str, due_s: float) -> None:
        # Whole milliseconds: rounded up, or messages would be early.
        self.rmq.send(LATER.name, FixedTimeMessage(payload, int(due_s * 1000) + 1))

    def outstanding(self, server: redis.Redis) -> int:
        samples = Inspector(self.rmq).sample([NOW.name, LATER.name])
        return sum(sample.backlog + sample.prepare for sample in samples)

    def run_worker(self, late: bool) -> None:
        Worker(URL, [Listener(LATER.name if late else NOW.name, noop)]).run()


PEER = Rmq
