"""``bands``: what waits in a priority topic, by priority."""

from __future__ import annotations

from dataclasses import asdict

import click

from rmq_core.cli.shell import Shell, command, complain
from rmq_core.client.inspector import Inspector
from rmq_core.figures import duration
from rmq_core.model.bands import Bands, SlotBand

HEADS = ("priority", "slot", "waiting", "higher", "waited", "none taken for", "others taken", "")


@command
@click.argument("topic")
@click.option("--slot", type=int, help="Of this slot alone.")
def bands(shell: Shell, topic: str, slot: int | None) -> None:
    """Say what waits by priority, for how long, and behind how many: what starves first.

    How long is known where a keeper looks (rmq console), and is that at least.
    """
    with shell.client() as rmq:
        found = Inspector(rmq).bands(topic, slot)
    if found.worst and found.noted_ms is None and not shell.as_json:
        complain("how long they wait is not known: no keeper looks at this queue")
    rows = [_row(found, each) for each in found.worst]
    shell.table(asdict(found), HEADS, rows, "nothing waits by priority")


def _row(found: Bands, each: SlotBand) -> tuple[object, ...]:
    return (
        each.priority,
        each.slot,
        each.waiting,
        each.before + each.elsewhere,
        "?" if each.waited_ms is None else duration(each.waited_ms),
        "?" if each.since_ms is None else duration(max(0, found.at_ms - each.since_ms)),
        "?" if each.overtaken is None else each.overtaken,
        "starves" if each.starving else "",
    )
