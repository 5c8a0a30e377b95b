"""``send``: one message."""

from __future__ import annotations

import sys
from typing import Any

import click

from rmq_core.cli.shell import Shell, command
from rmq_core.client.inspector import Inspector
from rmq_core.model.message import FixedTimeMessage, Message, PriorityMessage, RangeMergeMessage
from rmq_core.model.topic import Topic, TopicKind

BECAME: dict[bool | None, str] = {False: "new", True: "merged", None: "sent twice: new or merged"}


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
    raw = sys.stdin.buffer.read() if content == "-" else content
    named = {name: value for name, _, value in (each.partition("=") for each in headers)}
    more: dict[str, Any] = {"key": given["key"], "slot_basis": given["slot_basis"], "headers": named or None}
    with shell.client() as rmq:
        known = rmq.topic(topic)
        sent = rmq.send(known.name, _message(raw, known, Inspector(rmq).now_ms(), given, more))
    shell.show(sent._asdict(), [f"{sent.id}  slot {sent.slot}  {BECAME[sent.merged]}"])


def _message(content: bytes | str, topic: Topic, now_ms: int, given: dict[str, Any], more: dict[str, Any]) -> Message:
    if topic.kind is TopicKind.RANGE_MERGE:
        return RangeMergeMessage(content, given["range_ms"], **more)
    if topic.kind is TopicKind.PRIORITY:
        return PriorityMessage(content, given["priority"], **more)
    due_ms = given["due_ms"] if given["in_ms"] is None else now_ms + given["in_ms"]
    return FixedTimeMessage(content, due_ms, **more)
