"""`rmq forward` in a process that ends itself by SIGKILL at one of its steps; see `tests.support.programs`."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import Any

from rmq_core.cli.main import main as rmq
from rmq_core.protocol.scripts import Call, Request
from rmq_core.transport.aio import AsyncConnection


def main(url: str, namespace: str, step: str, after: bool) -> None:
    """``step``: a script or command; it dies before the first time it calls that, or as soon as it has been done."""
    run = AsyncConnection.run

    async def run_and_die(self: AsyncConnection, requests: Sequence[Request]) -> list[Any]:
        names = {each.script.name if isinstance(each, Call) else each[0] for each in requests}
        if step in names and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        replies = await run(self, requests)
        if step in names:
            os.kill(os.getpid(), signal.SIGKILL)
        return replies

    AsyncConnection.run = run_and_die  # type: ignore[method-assign]
    rmq(["forward", "--url", url, "--namespace", namespace])
