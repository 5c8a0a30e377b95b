"""``send``: one message."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import click

from rmq_core.cli.shell import Shell, Usage, command
from rmq_core.client.inspector import Inspector
from rmq_core.model.follow_ups import Addressed
from rmq_core.ops.sent import Sent

BECAME: dict[bool | None, str] = {False: "new", True: "merged", None: "sent twice: new or merged"}
WHEN = "--priority on a priority topic, --range-ms on a range-merge topic, --in-ms or --due-ms on a fixed-time topic"


@command
@click.argument("topic")
@click.argument("content", required=False)
@click.option("--range-ms", type=int, help="Range-merge topics: delivered so long after the first send.")
@click.option("--priority", type=int, help="Priority topics: above 16.")
@click.option("--due-ms", type=int, help="Fixed-time topics: epoch milliseconds.")
@click.option("--in-ms", type=int, help="Fixed-time topics: from now, by the server's clock.")
@click.option("--expires-ms", type=int, help="It expires when it was not delivered so long after it was due.")
@click.option("--unique-for-ms", type=int, help="It is not accepted where its id was so short a time ago.")
@click.option("--tenant", help="Whose it is; without it, as the topic says.")
@click.option("--id", "id", help="Stream topics: an id of its own, larger than all before it in its slot.")
@click.option("--field", "fields", multiple=True, metavar="NAME=VALUE", help="Stream topics, no CONTENT. Repeatable.")
@click.option("--key", help="What makes two messages the same; without it, the content.")
@click.option("--version", type=int, help="An older one never replaces a newer one of the same key; without it, 0.")
@click.option("--slot-basis", help="What chooses the slot; without it, the key or the content.")
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE", help="Repeatable.")
@click.option("--if-done", metavar="JSON", help="Sent when it has succeeded: topic, content and when, as of send.")
@click.option("--if-dead", metavar="JSON", help="Sent when it has died.")
@click.option("--dry-run", is_flag=True, help="Send nothing: say what it would do, and who would win where it merges.")
def send(shell: Shell, topic: str, content: str | None, headers: tuple[str, ...], dry_run: bool, **given: Any) -> None:
    """Send one message, or add an entry to a stream topic.

    CONTENT '-' reads standard input, as bytes. Content that begins with a dash comes after '--'.
    """
    given["fields"] = _pairs("field", given["fields"])
    when = sum(given[name] is not None for name in ("priority", "range_ms", "in_ms", "due_ms"))
    of_stream = given["fields"] is not None or given["id"] is not None
    if when > 1 or (of_stream and when):
        raise Usage(f"say once when it is delivered: {WHEN}; to a stream topic, not at all")
    if (content is None) is (given["fields"] is None):
        raise Usage("give a CONTENT, or to a stream topic --field NAME=VALUE")
    if content == "-" and sys.stdin is None:
        raise Usage("standard input is closed: there is no content to read")
    given["headers"] = _pairs("header", headers)
    given["if_done"], given["if_dead"] = (_addressed(name, given[name]) for name in ("if_done", "if_dead"))
    raw = sys.stdin.buffer.read() if content == "-" else content
    given["at"] = given.pop("due_ms")
    with shell.client() as rmq:
        if not when and not of_stream and not rmq.topic(topic).is_stream:
            raise Usage(f"say once when it is delivered: {WHEN}")
        if dry_run:
            if of_stream or rmq.topic(topic).is_stream:
                raise Usage("nothing merges in a stream: there is nothing to try")
            found = Inspector(rmq).what_if(topic, raw, **given)
            told = [{"code": each.code, "text": each.text, "values": dict(each.values)} for each in found.reasons]
            shell.show(asdict(found) | {"reasons": told}, [each.text for each in found.reasons])
            return
        sent = rmq.send(topic, raw, **given)
    value = sent._asdict() | {"duplicate_of_ms": sent.duplicate_of_ms, "outdated_by": sent.outdated_by}
    shell.show(value, [f"{sent.id}  slot {sent.slot}  {_became(sent)}"])


def _became(sent: Sent) -> str:
    if sent.duplicate:
        return "not accepted: a duplicate"
    if sent.outdated:
        return f"not accepted: version {sent.outdated_by} has been handed out"
    return BECAME[sent.merged]


def _addressed(name: str, text: str | None) -> Addressed | None:
    """What follows, as ``{"topic": "ship", "content": "…", "priority": 500}``."""
    try:
        return None if text is None else Addressed.from_value(json.loads(text))
    except (ValueError, RecursionError):
        raise Usage(
            f"--{name.replace('_', '-')} is a JSON object with topic, content and when, not {text!r:.80}"
        ) from None


def _pairs(what: str, given: tuple[str, ...]) -> dict[str, str] | None:
    wrong = next((each for each in given if not each.partition("=")[0] or "=" not in each), None)
    if wrong is not None:
        raise Usage(f"a {what} is given as NAME=VALUE, not as {wrong!r}")
    return {name: value for name, _, value in (each.partition("=") for each in given)} or None
