"""A process that kills itself at its nth step, so that a test can try every moment at which one may die."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any


class Deadly:
    """Ends the process at its nth step: each act that it is put around is one before, and one after."""

    def __init__(self, last: int) -> None:
        self.left = last

    def step(self) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def around(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **options: Any) -> Any:
            self.step()
            result = act(*args, **options)
            self.step()
            return result

        return wrapped

    def around_async(self, act: Callable[..., Any]) -> Callable[..., Any]:
        async def wrapped(*args: Any, **options: Any) -> Any:
            self.step()
            result = await act(*args, **options)
            self.step()
            return result

        return wrapped
