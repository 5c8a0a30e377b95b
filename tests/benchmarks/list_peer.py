"""The least that could be a peer: a Redis list, popped by one loop."""

from __future__ import annotations

import time

import redis
from lab import URL, Program, tally


class ListPeer(Program):
    packages = ("pytest",)
    settings = {"worker": "one loop"}
    guarantee = "at most once"

    def open(self) -> None:
        self.client = redis.Redis.from_url(URL)

    def send(self, payload: str) -> None:
        self.client.rpush("bench", payload)

    def send_bulk(self, payloads: list[str]) -> None:
        self.client.rpush("bench", *payloads)

    def delay(self, payload: str, due_s: float) -> None:
        self.client.zadd("bench-delayed", {payload: due_s})

    def outstanding(self, server: redis.Redis) -> int:
        return server.llen("bench") + server.zcard("bench-delayed")

    def run_worker(self, late: bool) -> None:
        self.open()
        while True:
            for payload, _ in self.client.zrange("bench-delayed", "-inf", time.time(), byscore=True, withscores=True):
                self.client.zrem("bench-delayed", payload)
                tally(payload.decode())
            popped = self.client.lpop("bench")
            if popped:
                tally(popped.decode())


PEER = ListPeer
