"""``topics`` and ``stats``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from rmq_core.cli.shell import Shell, Usage, command
from rmq_core.client.inspector import Inspector
from rmq_core.model.topic import Merge, OnFailure, Topic, TopicKind, Trim

HEADS = (
    *("topic", "backlog", "ready", "retrying", "in_flight", "dead", "entries", "sent", "merged", "acked"),
    "ledger_gap",
)


@command
@click.argument("define", metavar="[NAME]", required=False)
@click.option("--kind", type=click.Choice([kind.value for kind in TopicKind]), help="Of the topic to define.")
@click.option("--slots", type=int, default=64, help="Of the topic to define: a power of two.")
@click.option(
    "--merge", type=click.Choice([how.value for how in Merge]), help="What a duplicate does to one that waits."
)
@click.option("--expires-ms", type=int, help="Messages not delivered so long after they were due expire; 0: never.")
@click.option("--unique-for-ms", type=int, help="An id that was accepted is not accepted again for so long; 0: it is.")
@click.option("--tenant-from", help="Where tenants are read from: header:NAME or key:SEPARATOR.")
@click.option("--fair/--no-fair", default=None, help="Whether tenants take turns (priority topics).")
@click.option("--tenant-weights", help="Who has more turns than others: acme=3,globex=10.")
@click.option("--tenant-limits", help="Who may have how much: acme=held,globex=10/s,initech=3 at once.")
@click.option("--versions-for-ms", type=int, help="No older version follows one handed out so long ago; 0: it may.")
@click.option(
    "--on-failure",
    type=click.Choice([how.value for how in OnFailure]),
    help="Whether the next of a slot basis waits for one that failed.",
)
@click.option("--concurrency", type=int, help="So many are in flight at once, in the whole fleet; 0: any number.")
@click.option("--key-concurrency", type=int, help="So many of one key are in flight at once; 0: any number.")
@click.option("--archive-for-ms", type=int, help="So long the archive keeps what is over; 0: for ever.")
@click.option("--in-order", is_flag=True, default=None, help="Hand out the versions of a key one after the other.")
@click.option("--first-version", type=int, help="In order: with which a key begins; 0: with whichever comes first.")
@click.option("--skip-after-ms", type=int, help="In order: go on without what is missing for so long; 0: wait.")
@click.option("--max-length", type=int, help="Of a stream: entries kept, over all slots.")
@click.option("--max-age-ms", type=int, help="Of a stream: older entries are trimmed.")
@click.option("--trim", type=click.Choice([how.value for how in Trim]), help="Of a stream: how closely.")
def topics(shell: Shell, define: str | None, kind: str | None, slots: int, **bounds: Any) -> None:
    """List topics, or define one.

    With a NAME and --kind the topic is defined, or found to be there already with that shape.
    """
    if bool(define) != bool(kind):
        raise Usage("topics NAME needs --kind" if define else "topics --kind needs a NAME")
    given = {name: value for name, value in bounds.items() if value is not None}
    if given and not kind:
        raise Usage(f"--{min(given).replace('_', '-')} is of a topic that is defined: give a NAME and --kind stream")
    with shell.client() as rmq:
        if define and kind:
            found = [rmq.define(Topic(define, TopicKind(kind), slots=slots, **given))]
        else:
            found = Inspector(rmq).topics()
    rows = [(each.name, each.kind.value, each.slots, each.version, "paused" if each.paused else "") for each in found]
    shell.table([asdict(each) for each in found], ("topic", "kind", "slots", "version", ""), rows, "no topics")


@command
@click.argument("topic", required=False)
def stats(shell: Shell, topic: str | None) -> None:
    """Count what every topic holds and has done, or one topic."""
    with shell.client() as rmq:
        if topic:
            rmq.topic(topic)
        samples = Inspector(rmq).sample([topic] if topic else None)
    values: list[dict[str, Any]] = [
        {"topic": sample.topic.name, **sample.numbers(), "entries": sample.length, **asdict(sample.counters)}
        for sample in samples
    ]
    shell.table(values, HEADS, [[row[head] for head in HEADS] for row in values], "no topics")
