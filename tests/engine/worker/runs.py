"""How many calls run at once, of a key (the first letter of a content) and in all."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter

from rmq_core import Delivery


class Runs:
    """How many of a key run at once."""

    def __init__(self, in_all: int = 1) -> None:
        """A plain call waits until so many have run at once, as they will sooner or later."""
        self.in_all = in_all
        self.now, self.peak, self.all = Counter[str](), Counter[str](), 0
        self.most = 0
        self.done: list[str] = []
        self.lock = threading.Condition()

    def begin(self, *texts: str) -> None:
        with self.lock:
            for key in [text[0] for text in texts]:
                self.now[key] += 1
                self.peak[key] = max(self.peak[key], self.now[key])
            self.most = max(self.most, self.now.total())
            self.lock.notify_all()

    def end(self, *texts: str) -> None:
        with self.lock:
            self.done += texts
            for text in texts:
                self.now[text[0]] -= 1

    def plain(self, delivery: Delivery) -> None:
        self.begin(delivery.text)
        with self.lock:
            assert self.lock.wait_for(lambda: self.most >= self.in_all, 20)
        time.sleep(0.005)
        self.end(delivery.text)

    def batch(self, deliveries: list[Delivery]) -> None:
        texts = [each.text for each in deliveries]
        self.begin(*texts)
        time.sleep(0.005)
        self.end(*texts)

    async def coroutine(self, delivery: Delivery) -> None:
        self.begin(delivery.text)
        await asyncio.sleep(0.005)
        self.end(delivery.text)
