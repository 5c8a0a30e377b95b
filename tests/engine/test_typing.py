"""What a checker of types says about an application: mypy --strict, over a file in which each wrong line is marked."""

from __future__ import annotations

import re
from pathlib import Path

from mypy import api

ROOT = Path(__file__).parents[2]

APPLICATION = """
from collections.abc import Sequence

from rmq_core import Delivery, Listener, Topic, TopicKind, listener

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
reveal_type(one)  # stays "def (delivery: rmq_core.model.message.Delivery)"
"""


def test_a_listener_must_fit_its_batch(tmp_path: Path) -> None:
    application = tmp_path / "application.py"
    application.write_text(APPLICATION)
    # The cache of `make check`, so that only what changed since is read.
    told, errors, _ = api.run(
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
    found = {int(number) for number in re.findall(r"application\.py:(\d+): error", told)}
    assert found == lines, told
    assert 'Revealed type is "def (delivery: rmq_core.model.message.Delivery)"' in told
