"""``send``: one message."""

from __future__ import annotations

import sys
from typing import Any

import click

from rmq_core.cli.shell import Shell, Usage, command

BECAME: dict[bool | None, str] = {False: "new", True: "merged", None: "sent twice: new or merged"}
WHEN = "--priority on a priority topic, --range-ms on a range-merge topic, --in-ms or --due-ms on a fixed-time topic"


@command
@click.argument("topic")
@click.argument("content")
@click.option("--range-ms", type=int, help="Range-merge topics: delivered so long after the first send.")
@click.option("--priority", type=int, help="Priority topics: above 16.")
@click.option("--due-ms", type=int, help="Fixed-time topics: epoch milliseconds.")
@click.option("--in-ms", type=int, help="Fixed-time topics: from now, by the server's clock.")
@click.option("--key", help="What makes two messages the same; without it, the content.")
@click.option("--slot-basis", help="What chooses the slot; without it, the key or the content.")
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE", help="Repeatable.")
def send(shell: Shell, topic: str, content: str, headers: tuple[str, ...], **given: Any) -> None:
    """Send one message.

    CONTENT '-' reads standard input, as bytes. Content that begins with a dash comes after '--'.
    """
    if sum(given[name] is not None for name in ("priority", "range_ms", "in_ms", "due_ms")) != 1:
        raise Usage(f"say once when it is delivered: {WHEN}")
    if content == "-" and sys.stdin is None:
        raise Usage("standard input is closed: there is no content to read")
    wrong = next((each for each in headers if not each.partition("=")[0] or "=" not in each), None)
    if wrong is not None:
        raise Usage(f"a header is given as NAME=VALUE, not as {wrong!r}")
    raw = sys.stdin.buffer.read() if content == "-" else content
    given["at"] = given.pop("due_ms")
    given["headers"] = {name: value for name, _, value in (each.partition("=") for each in headers)} or None
    with shell.client() as rmq:
        sent = rmq.send(topic, raw, **given)
    shell.show(sent._asdict(), [f"{sent.id}  slot {sent.slot}  {BECAME[sent.merged]}"])
