"""README says what its worker prints in which order; with one call at a time that order is exact."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from types import ModuleType

import pytest

from rmq_core import RMQ
from rmq_core.embedded.redis import EmbeddedRedis
from tests.docs.blocks import ROOT, blocks
from tests.engine.worker.bench import open_bench
from tests.support.waiting import wait_until_async

BLOCKS = blocks(ROOT / "README.md")


async def test_the_higher_priority_comes_first_in_readme_too(
    redis_server: EmbeddedRedis, namespace: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shop, send = (next(block.code for block in BLOCKS if block.file == file) for file in ("shop.py", "send.py"))
    module = ModuleType("shop")
    exec(shop, module.__dict__)
    monkeypatch.setitem(sys.modules, "shop", module)
    monkeypatch.setenv("RMQ_URL", redis_server.url)
    assert "RMQ(os.environ" in send
    exec(send.replace("RMQ(os.environ", f"RMQ(namespace={namespace!r}, url=os.environ"), {"os": os, "RMQ": RMQ})

    (promised,) = (block.code for block in BLOCKS if block.how == "output")
    mails = [line for line in promised.splitlines() if line.startswith("mail to ")]
    assert len(mails) == 2
    with redis_server.client() as raw, contextmanager(open_bench)(redis_server.url, namespace, raw) as bench:
        async with bench.running_this(bench.one_lane(module.send_mails)):
            await wait_until_async(lambda: bench.total("acked", "mail") == 2, what="both mails")
    assert capsys.readouterr().out.splitlines() == mails
