"""`python -m benchmarks.recording TRANSITIONS`: follows the journals into the database of the environment, then prints
how long that took. A program of its own, for Django's settings are those of a process.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time


async def follow(wanted: int) -> float:
    """Seconds until so many transitions are written, with positions committed and journals trimmed behind them."""
    from console.engine import new_async_engine
    from console.record.follow import Follower

    engine = new_async_engine()
    try:
        follower, written = Follower(engine), 0
        began = time.perf_counter()
        while written < wanted:
            new = sum((await follower.round()).values())
            if not new:
                raise RuntimeError(f"the journals hold only {written} of {wanted} transitions")
            written += new
        return time.perf_counter() - began
    finally:
        await engine.client.close()


def main() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    seconds = asyncio.run(follow(int(sys.argv[1])))

    from console.models import MessageRecord, MessageTransition

    found = {"seconds": seconds, "messages": MessageRecord.objects.count()}
    print(json.dumps(found | {"transitions": MessageTransition.objects.count()}))


if __name__ == "__main__":
    main()
