"""``why``: why a topic, a slot or a message is late."""

from __future__ import annotations

import time

import click

from rmq_core.cli.shell import Shell, Usage, command
from rmq_core.client.inspector import Inspector
from rmq_core.why.facts import Pace


@command
@click.argument("topic")
@click.argument("ident", metavar="ID", required=False)
@click.option("--slot", type=int, help="Of this slot, or the message in it.")
@click.option("--slot-basis", help="Of a message: what its slot was chosen by, if that was not its key or content.")
@click.option("--for-ms", type=click.IntRange(0, 60_000), default=1_000, help="Of a topic: measure its pace so long.")
def why(shell: Shell, topic: str, ident: str | None, slot: int | None, slot_basis: str | None, for_ms: int) -> None:
    """Say why a message, a slot or a topic is late.

    What decides comes first, then whatever else holds it up. With ID of that message, else of the topic or its slot.
    """
    if ident is None and slot_basis is not None:
        raise Usage("--slot-basis is of a message: give its ID, too")
    with shell.client() as rmq:
        inspector = Inspector(rmq)
        pace = _pace(inspector, topic, for_ms) if ident is None and slot is None and for_ms else None
        found = inspector.why(topic, ident, slot=slot, slot_basis=slot_basis, pace=pace)
    shell.show(found.as_dict(), [each.text for each in found.reasons])


def _pace(inspector: Inspector, topic: str, for_ms: int) -> Pace | None:
    first = inspector.sample([topic])
    time.sleep(for_ms / 1000)
    second = inspector.sample([topic])
    if not first or not second or second[0].at_ms <= first[0].at_ms:
        return None
    seconds = (second[0].at_ms - first[0].at_ms) / 1000
    before, now = first[0].counters, second[0].counters
    return Pace(round((now.sent - before.sent) / seconds, 1), round((now.acked - before.acked) / seconds, 1))
