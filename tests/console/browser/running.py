"""A worker beside the browser."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

from rmq_core import Delivery, Listener, Worker


class RunningWorker:
    """A worker in a thread of its own whose listener counts attempts and always fails."""

    def __init__(self, url: str, topic: str) -> None:
        self.attempts: Counter[str] = Counter()
        self._worker = Worker(url, [Listener(topic, self._fail)], name=f"test-{topic}")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._worker.serve(),))

    def _fail(self, delivery: Delivery) -> None:
        self.attempts[delivery.id] += 1
        raise KeyError("tail number")

    def __enter__(self) -> RunningWorker:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._loop.call_soon_threadsafe(self._worker.stop)
        self._thread.join(60)
        self._loop.close()
        assert not self._thread.is_alive()
