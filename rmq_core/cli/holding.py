"""``hold``, ``lift`` and ``holds``: keys of which nothing is handed out for now."""

from __future__ import annotations

import click

from rmq_core.cli.shell import Shell, Usage, command, moment
from rmq_core.client.control import Control
from rmq_core.client.inspector import Inspector
from rmq_core.model.holds import Hold

HEADS = ("hold", "of", "key", "held", "since", "until", "note")


@command
@click.argument("topic")
def holds(shell: Shell, topic: str) -> None:
    """List the keys of a topic that are held, with how much each keeps back."""
    with shell.client() as rmq:
        found = Inspector(rmq).holds(topic)
    _show(shell, found, "nothing is held")


def _show(shell: Shell, found: list[Hold], empty: str) -> None:
    rows = [
        (
            hold.ref,
            hold.of.replace("_", " "),
            hold.key,
            hold.held,
            moment(hold.since_ms),
            "lifted" if hold.until_ms is None else moment(hold.until_ms),
            hold.note,
        )
        for hold in found
    ]
    shell.table([hold.to_mapping() for hold in found], HEADS, rows, empty)


@command
@click.argument("topic")
@click.argument("id", required=False)
@click.option("--slot-basis", help="Hold the messages of this slot basis, instead of those of an ID.")
@click.option("--slot", type=int, help="Of an ID: in this slot.")
@click.option("--for-ms", type=int, help="So long; without it, until somebody lifts the hold.")
@click.option("--note", default="", help="Why, for whoever sees the hold.")
def hold(
    shell: Shell, topic: str, id: str | None, slot_basis: str | None, slot: int | None, for_ms: int | None, note: str
) -> None:
    """Hold one key: its messages wait, the others of its slot go on.

    What a take meets is set aside with its place, until the hold is lifted or its time is over.
    """
    if (id is None) == (slot_basis is None):
        raise Usage("hold takes an ID or --slot-basis, one of them")
    with shell.client() as rmq:
        found = Control(rmq).hold(topic, id=id, slot_basis=slot_basis, slot=slot, for_ms=for_ms, note=note)
    _show(shell, found, "nothing is held")


@command
@click.argument("topic")
@click.argument("hold")
def lift(shell: Shell, topic: str, hold: str) -> int:
    """Lift a HOLD (as holds lists it): what it kept back goes on from its place."""
    with shell.client() as rmq:
        done = Control(rmq).lift(topic, hold)
    text = f"lifted; {done.messages} came back" if done.found else "there is no such hold"
    shell.show({"lifted": done.found, "messages": done.messages}, [text])
    return 0 if done.found else 1
