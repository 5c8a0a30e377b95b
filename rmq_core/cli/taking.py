"""``take``: messages for a script."""

from __future__ import annotations

import base64
from typing import Any

import click

from rmq_core.cli.shell import Shell, command, complain
from rmq_core.cli.tailing import entry_text, entry_value
from rmq_core.model.delivery import Delivery
from rmq_core.model.entry import EntryDelivery
from rmq_core.model.text import shown


@command
@click.argument("topic")
@click.option("--max", "most", type=click.IntRange(1, 1_000), default=1, help="So many at most.")
@click.option("--wait-ms", type=click.IntRange(0), default=0, help="Wait for the first one.")
@click.option(
    *("--then", "outcome"),
    type=click.Choice(["ack", "release", "leave"]),
    default="ack",
    help="What happens to them once they are printed: done, put back uncounted, or left to time out.",
)
def take(shell: Shell, topic: str, most: int, wait_ms: int, outcome: str) -> int:
    """Take messages, print them, and settle them.

    They are settled after they were printed: what a crash leaves behind comes back by its visibility timeout.
    Nothing there is no failure; it prints nothing, or an empty list.
    """
    with shell.client() as rmq:
        taken = rmq.take(rmq.topic(topic), most, wait_ms)
        if shell.as_json or taken:
            shell.show([_value(each) for each in taken], [f"{each.id}  {_text(each)}" for each in taken])
        statuses = rmq.ack(taken) if outcome == "ack" else rmq.release(taken) if outcome == "release" else []
    if late := statuses.count("stale"):  # whoever reads the output has kept it waiting
        complain(f"{late} of {len(taken)} settled too late: they had timed out meanwhile, or their topic is gone")
    return 1 if late else 0


def _value(delivery: Delivery) -> dict[str, Any]:
    value: dict[str, Any] = {"id": delivery.id, "slot": delivery.slot, "attempt": delivery.attempt}
    if isinstance(delivery, EntryDelivery):
        return value | entry_value(delivery.entry) | {"receipt": delivery.receipt}
    try:
        value["content"] = delivery.text
    except UnicodeDecodeError:
        value["content_base64"] = base64.b64encode(delivery.content).decode()
    return value | {"headers": delivery.headers, "receipt": delivery.receipt}


def _text(delivery: Delivery) -> str:
    if isinstance(delivery, EntryDelivery):
        return entry_text(delivery.entry)
    return "" if delivery.content == delivery.raw_id else shown(delivery.content)
