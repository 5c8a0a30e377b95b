"""``tail``: entries of stream topics, the newest and those that come."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any

import click

from rmq_core.cli.shell import Shell, command
from rmq_core.model.entry import Entry
from rmq_core.model.text import shown
from rmq_core.streams.reading import PAGE_MAX, Bound


@command
@click.argument("topics", nargs=-1, required=True)
@click.option("-n", "--lines", type=click.IntRange(0, PAGE_MAX), default=10, help="So many of the newest.")
@click.option("--since", help="All from then on instead: an entry's id, or epoch milliseconds; 0: from the first.")
@click.option("--slot", type=int, help="Of this slot only.")
@click.option("-f", "--follow", is_flag=True, help="Go on as they come, until interrupted.")
def tail(shell: Shell, topics: tuple[str, ...], lines: int, since: str | None, slot: int | None, follow: bool) -> None:
    """Print entries of stream topics.

    Oldest first; a line (--json: an object) for each. Reads only: others read the same entries.
    """
    with shell.client() as rmq:
        if since is None:
            end = rmq.read(topics, since="end", slot=slot)  # what comes from now on comes behind the newest
            newest = rmq.read(topics, newest=True, slot=slot, limit=max(1, lines)).entries[:lines]
            printed = {(each.topic, each.ref) for each in newest}
            _print(shell, newest[::-1])
            page = end
        else:
            begin: Bound = int(since) if since.isdecimal() else since
            page, printed = rmq.read(topics, since=begin, slot=slot, limit=PAGE_MAX), set()
        while True:
            _print(shell, [each for each in page.entries if (each.topic, each.ref) not in printed])
            if not page.more and not follow:
                return
            page = rmq.read(topics, cursor=page.cursor, limit=PAGE_MAX, timeout_ms=0 if page.more else 60_000)


def _print(shell: Shell, entries: Any) -> None:
    for each in entries:
        click.echo(json.dumps(entry_value(each)) if shell.as_json else shown(_line(each)))


def entry_value(entry: Entry) -> dict[str, Any]:
    """An entry as JSON; bytes that are no text under a name with ``_base64``."""
    value: dict[str, Any] = {"topic": entry.topic, "id": entry.id, "slot": entry.slot, "at_ms": entry.at_ms}
    if entry.fields:
        value["fields"] = {name: _text(raw) for name, raw in entry.fields.items()}
        value["fields_base64"] = {
            name: base64.b64encode(raw).decode() for name, raw in entry.fields.items() if _text(raw) is None
        }
    elif (text := _text(entry.content)) is not None:
        value["content"] = text
    else:
        value["content_base64"] = base64.b64encode(entry.content).decode()
    return value | {"headers": entry.headers}


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _line(entry: Entry) -> str:
    try:
        when = datetime.fromtimestamp(entry.at_ms / 1000, UTC).replace(tzinfo=None).isoformat(" ", "milliseconds")
    except (OverflowError, ValueError, OSError):  # the sender chose it
        when = "-"
    return f"{when}  {entry.topic}[{entry.slot}]  {entry.id}  {entry_text(entry)}"


def entry_text(entry: Entry) -> str:
    """What it holds, for people."""
    if entry.fields:
        return " ".join(f"{name}={shown(raw)}" for name, raw in entry.fields.items())
    return shown(entry.content)
