"""``groups`` and ``position``: consumer groups of stream topics, and where they stand."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from rmq_core.cli.shell import Shell, Usage, command
from rmq_core.client.control import Control
from rmq_core.client.inspector import Inspector
from rmq_core.model.group import AT, Acks
from rmq_core.streams.positions import Where

HEADS = ("group", "lag", "retrying", "in_flight", "dead", "missed", "read", "acked", "")


@command
@click.argument("topic")
@click.argument("group", required=False)
@click.option("--start", help="Of a group to make: start, end, an entry's id or epoch milliseconds.")
@click.option("--durable/--not-durable", default=True, help="Of a group to make: whether trimming waits for it.")
@click.option("--acks", type=click.Choice([each.value for each in Acks]), default="each", help="Of a group to make.")
@click.option("--waits", is_flag=True, help="Of a group to make: what stands behind one that failed waits for it.")
@click.option("--delete", is_flag=True, help="Delete the group; the entries stay.")
@click.option("--force", is_flag=True, help="Delete it with what is unfinished or dead.")
def groups(
    shell: Shell, topic: str, group: str | None, start: str | None, delete: bool, force: bool, **settings: Any
) -> None:
    """List the consumer groups of a stream topic, make one or delete one.

    With a GROUP and --start the group is made, or found to be there already. Its queue is TOPIC@GROUP, which take,
    peek, dead, requeue, drop, owners, pin and journal know.
    """
    if not group and (start or delete):
        raise Usage("groups --start and --delete need a GROUP")
    if start and delete:
        raise Usage("--start makes a group and --delete deletes one: say which")
    with shell.client() as rmq:
        if group and delete:
            gone = Control(rmq).delete_topic(f"{topic}{AT}{group}", force)
            shell.show({"deleted": gone}, [f"deleted, with {gone} entries that were unfinished or dead"])
            return
        if group and start:
            rmq.define_group(topic, group, start=where(start), **settings)
        inspector = Inspector(rmq)
        names = [each.name for each in inspector.groups(topic)]
        if group:
            rmq.topic(f"{topic}{AT}{group}")
            names = [f"{topic}{AT}{group}"]
        samples = inspector.sample(names)
    values = [
        {
            "group": sample.topic.name,
            "lag": sample.lag,
            "missed": sample.missed,
            "paused": sample.topic.paused_at(sample.at_ms),
            "paused_until_ms": getattr(sample.topic, "paused_until_ms", 0),
            "read": sample.counters.sent,
            **sample.numbers(),
            **asdict(sample.counters),
        }
        for sample in samples
    ]
    rows = [[_cell(row, head) for head in HEADS] for row in values]
    shell.table(values, HEADS, rows, "no groups")


@command
@click.argument("group", metavar="TOPIC@GROUP")
@click.argument("to", metavar="start|end|ID|MS")
@click.option("--slot", type=int, multiple=True, help="Of this slot only; may be given several times.")
@click.option("--dry-run", is_flag=True, help="Only say what it would do.")
def position(shell: Shell, group: str, to: str, slot: tuple[int, ...], dry_run: bool) -> None:
    """Have a group read on from another place, back or forward.

    The start, the end, behind an entry's ID, or what came at a time (epoch milliseconds) and since. What is under way
    stays so, and is not read twice.
    """
    with shell.client() as rmq:
        moved = Control(rmq).set_position(group, where(to), list(slot) or None, dry_run=dry_run)
    values = [each._asdict() for each in moved]
    rows = [(each.slot, each.lag_before, each.lag, each.behind) for each in moved]
    shell.table(values, ("slot", "lag before", "lag", "behind"), rows, "it has no slots")


def _cell(row: dict[str, Any], head: str) -> Any:
    if not head:
        return "paused" if row["paused"] else ""
    return "unknown" if row[head] is None else row[head]


def where(text: str) -> Where:
    """A position as it is typed."""
    return int(text) if text.isdecimal() else text
