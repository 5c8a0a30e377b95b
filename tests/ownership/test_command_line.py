"""``python -m rmq_core`` for workers with ZooKeeper and for the operators' overrides."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rmq_core import RMQ, Control, PriorityMessage
from rmq_core.cli.main import main
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import Fenced
from rmq_core.ownership.config import ZooKeeperConfig
from tests.docs.blocks import blocks
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
(AS_TOLD,) = [each.code for each in blocks(ROOT / "docs/tutorials/production-worker.md") if each.how == "run by"]
LISTENERS = """
from rmq_core import Topic, listener

@listener(Topic("cli", "priority", slots=4))
def work(delivery):
    pass
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


@pytest.mark.zookeeper
def test_workers_own_slots_and_operators_move_them(
    redis_server: EmbeddedRedis,
    quick: ZooKeeperConfig,
    namespace: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "shop.py").write_text(LISTENERS)
    at = ("--url", redis_server.url, "--namespace", namespace)
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PATH": programs}
    environment |= {"RMQ_URL": redis_server.url, "RMQ_NAMESPACE": namespace}

    def start(name: str) -> subprocess.Popen[bytes]:
        """As the page says, in a shell of its own."""
        code = AS_TOLD.replace("zoo1:2181,zoo2:2181,zoo3:2181", quick.hosts)
        code = code.replace("rmq worker billing --name billing-1", f"exec rmq worker shop --name {name}")
        return subprocess.Popen(["bash", "-euc", code], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)

    def counts() -> dict[str, int]:
        lines = run(capsys, "owners", "cli", *at).splitlines()
        return {line.split()[0]: int(line.split()[1]) for line in lines}

    with RMQ(redis_server.url, namespace) as rmq:
        workers = [start("ann"), start("bob")]
        try:
            wait_until(lambda: rmq.connection.client.hlen(f"{namespace}:topics"), what="the topic to be defined")
            wait_until(lambda: counts() == {"ann": 2, "bob": 2}, timeout_s=60, what="both to own slots")
            for misspelt in (["drain", "an"], ["pin", "cli", "0", "an"]):
                assert main([*misspelt, *at]) == 0
                assert "no worker 'an' was seen lately" in capsys.readouterr().err
            assert run(capsys, "undrain", "an", *at) == "undrained\n"
            assert run(capsys, "unpin", "cli", "0", *at) == "unpinned\n"
            assert run(capsys, "drain", "ann", *at) == "drained\n"
            assert run(capsys, "drain", "ann", *at) == "it was so already\n"
            wait_until(lambda: counts() == {"bob": 4}, what="the drain to be followed")
            assert run(capsys, "undrain", "ann", *at) == "undrained\n"
            for slot in ("0", "1", "3"):
                assert run(capsys, "pin", "cli", slot, "ann", *at) == "pinned\n"
            wait_until(lambda: counts() == {"ann": 3, "bob": 1}, what="the pins to be followed")
            assert json.loads(run(capsys, "unpin", "cli", "3", *at, "--json")) == {"changed": True}
            assert main(["unfence", "cli", *at]) == 1
            assert "ann, bob" in capsys.readouterr().err
            (third,) = [each for each in json.loads(run(capsys, "owners", "cli", *at, "--json")) if each["slot"] == 2]
            assert third["worker"] == "bob"
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.wait(60)
        assert counts() == {"(nobody)": 4}
        rmq.send("cli", PriorityMessage("a", 20))
        with pytest.raises(Fenced):
            rmq.take("cli")
        assert run(capsys, "unfence", "cli", *at) == "4 slots handed back to shared mode\n"
        rmq.ack(rmq.take("cli"))
        Control(rmq).delete_topic("cli")
    assert main(["pin", "nowhere", "0", "ann", *at]) == 1
