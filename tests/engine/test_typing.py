"""What a checker of types says about an application: mypy --strict, over a file in which each wrong line is marked."""

from __future__ import annotations

import re
from pathlib import Path

from mypy import api

ROOT = Path(__file__).parents[2]

APPLICATION = """
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TypedDict

from rmq_core import *

MAILS = Topic("mail", TopicKind.PRIORITY)


@listener(MAILS)
def one(delivery: Delivery) -> None: ...

@listener("mail", max_runtime_ms=1_000)
async def awaited(delivery: Delivery) -> None: ...

@listener(MAILS, batch=50)
def several(deliveries: list[Delivery]) -> None: ...

@listener(MAILS, batch=50)
async def any_sequence(deliveries: Sequence[Delivery]) -> None: ...

@listener(MAILS)  # wrong
def a_list_of_one(deliveries: list[Delivery]) -> None: ...

@listener(MAILS, batch=50)  # wrong
def one_of_many(delivery: Delivery) -> None: ...

@listener(MAILS, batch=50)  # wrong
async def one_awaited(delivery: Delivery) -> None: ...

@listener(MAILS)  # wrong
def two(delivery: Delivery, more: str) -> None: ...


class Sender:
    def send(self, delivery: Delivery) -> None: ...
    def send_all(self, deliveries: list[Delivery]) -> None: ...

sender = Sender()
Listener("mail", sender.send)
Listener("mail", sender.send_all, batch=50)
Listener("mail", sender.send_all)  # wrong
Listener("mail", sender.send, batch=50)  # wrong

one(several)  # wrong


class ActionRequest(TypedDict):
    number: int

async def send(rmq: RMQ, asynchronous: AsyncRMQ, order: ActionRequest, rows: list[int]) -> None:
    rmq.send(MAILS, PriorityMessage("a", 20), allow_past=True)
    rmq.send(MAILS, {"to": ["a", 1.5, None]}, priority=900, key=b"k", headers={"a": "b"})
    rmq.send(MAILS, order, in_ms=5)
    await asynchronous.send(MAILS, rows, at=datetime.now(UTC))
    rmq.send_many("mail", [DelayedMessage("a", 5), FixedTimeMessage("a", 5)])
    rmq.send(MAILS, datetime.now(UTC), priority=20)  # wrong
    rmq.send(MAILS, {1: "a"}, priority=20)  # wrong
    rmq.send(MAILS, {"a"}, priority=20)  # wrong
    rmq.send(MAILS, "a", priority="high")  # wrong
    rmq.send(MAILS, "a", prio=20)  # wrong
    await asynchronous.send(MAILS, "a", in_ms=timedelta(1))  # wrong

reveal_type(one)  # stays "def (delivery: rmq_core.model.delivery.Delivery)"
"""


def test_what_would_fail_is_refused(tmp_path: Path) -> None:
    application = tmp_path / "application.py"
    application.write_text(APPLICATION)
    # The cache of `make check`, so that only what changed since is read.
    output, errors, _ = api.run(
        [
            "--strict",
            "--config-file",
            str(ROOT / "pyproject.toml"),
            "--cache-dir",
            str(ROOT / ".mypy_cache"),
            "--hide-error-context",
            "--no-color-output",
            str(application),
        ]
    )
    assert not errors, errors
    lines = {number for number, line in enumerate(APPLICATION.splitlines(), 1) if line.endswith("# wrong")}
    found = {int(number) for number in re.findall(r"application\.py:(\d+): error", output)}
    assert found == lines, output
    assert 'Revealed type is "def (delivery: rmq_core.model.delivery.Delivery)"' in output
