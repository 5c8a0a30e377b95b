"""``order`` and ``skip``: versions of a key that wait for one before them."""

from __future__ import annotations

import click

from rmq_core.cli.shell import Shell, command, moment
from rmq_core.client.control import Control
from rmq_core.client.inspector import Inspector

HEADS = ("key", "slot", "next", "which is", "held", "from", "since")


@command
@click.argument("topic")
@click.argument("key", required=False)
@click.option("--most", type=int, default=100, show_default=True, help="Keys to list, longest first.")
def order(shell: Shell, topic: str, key: str | None, most: int) -> None:
    """List which keys of a topic wait for which version, and where that is.

    Of a topic that is in order. A version that is dead, removed or missing keeps the others back until it comes, or
    somebody skips it.
    """
    with shell.client() as rmq:
        found = Inspector(rmq).order(topic, most, key)
    rows = [
        (
            each.key,
            each.slot,
            each.next,
            each.awaited.replace("_", " "),
            each.held,
            each.lowest,
            moment(each.since_ms),
        )
        for each in found.waiting
    ]
    shell.table([each.to_mapping() for each in found.waiting], HEADS, rows, "nothing waits for its turn")


@command
@click.argument("topic")
@click.argument("key")
@click.option("--to", type=int, help="Go on with this version; without it, with the first that waits.")
@click.option("--instead-of", type=int, help="Only while this is the next version.")
@click.option("--slot", type=int, help="Where its messages name a slot basis: their slot.")
def skip(shell: Shell, topic: str, key: str, to: int | None, instead_of: int | None, slot: int | None) -> int:
    """Let a KEY go on without the versions that are missing.

    What comes of them later is outdated, and is not delivered.
    """
    with shell.client() as rmq:
        done = Control(rmq).skip(topic, key, to=to, instead_of=instead_of, slot=slot)
    text = (
        f"it goes on with version {done.next}" if done.done else f"nothing waits; the next one is version {done.next}"
    )
    shell.show({"skipped": done.done, "next": done.next}, [text])
    return 0 if done.done else 1
