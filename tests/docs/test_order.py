"""README says what its worker prints in which order; with one call at a time that order is exact."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import contextmanager
from types import ModuleType

import pytest

from rmq_core.embedded.redis import EmbeddedRedis
from tests.docs.blocks import ROOT, blocks
from tests.engine.worker.bench import open_bench
from tests.support.waiting import wait_until_async

BLOCKS = blocks(ROOT / "README.md")


def swapped(text: str) -> str:
    """With the priorities the other way round: the higher one is not in the same slot any more."""
    return re.sub(r"\b(20|900)\b", lambda found: {"20": "900", "900": "20"}[found[0]], text)


@pytest.mark.parametrize("told", [str, swapped], ids=["as it says", "the other way round"])
async def test_the_higher_priority_comes_first_in_readme_too(
    redis_server: EmbeddedRedis,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    told: Callable[[str], str],
) -> None:
    shop, send = (next(block.code for block in BLOCKS if block.file == file) for file in ("shop.py", "send.py"))
    module = ModuleType("shop")
    exec(shop, module.__dict__)
    monkeypatch.setitem(sys.modules, "shop", module)
    monkeypatch.setenv("RMQ_URL", redis_server.url)
    assert "RMQ(os.environ" in send
    exec(told(send).replace("RMQ(os.environ", f"RMQ(namespace={namespace!r}, url=os.environ"), {})

    (promised,) = (block.code for block in BLOCKS if block.how == "output")
    mails = [line for line in promised.splitlines() if line.startswith("mail to ")]
    assert len(mails) == 2
    if told is swapped:
        mails = [told(line) for line in reversed(mails)]
    with redis_server.client() as raw, contextmanager(open_bench)(redis_server.url, namespace, raw) as bench:
        async with bench.running_this(bench.one_lane(module.send_mails)):
            await wait_until_async(lambda: bench.total("acked", "mail") == 2, what="both mails")
    assert capsys.readouterr().out.splitlines() == mails
