"""``peek``, ``dead`` and ``clusters``: what reads messages and leaves them where they are."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from rmq_core.cli.shell import Shell, command, moment
from rmq_core.cli.states import StateChoice
from rmq_core.client.inspector import Inspector
from rmq_core.model.states import STATES
from rmq_core.model.views import MessageRow

HEADS = ("slot", "id", "when (UTC)", "priority", "failures", "error")
ID_SHOWN = 60

limit = click.option("--limit", type=int, default=20, help="So many at most.")


@command
@click.argument("topic")
@click.option("--state", type=StateChoice(STATES), default="ready", help="Those in this state.")
@limit
def peek(shell: Shell, topic: str, state: str, limit: int) -> None:
    """Look at messages without taking them."""
    _list(shell, topic, state, limit)


@command
@click.argument("topic")
@limit
def dead(shell: Shell, topic: str, limit: int) -> None:
    """List dead letters."""
    _list(shell, topic, "dead", limit)


def _list(shell: Shell, topic: str, state: Any, most: int) -> None:
    with shell.client() as rmq:
        page = Inspector(rmq).messages(topic, state, limit=most)
    named = {"in_flight": "in flight", "trash": "in the trash"}
    empty = f"nothing is {named.get(state, state)}"
    shell.table([_value(row) for row in page.rows], HEADS, map(_cells, page.rows), empty)
    if page.next_cursor and not shell.as_json:
        click.echo("… there are more; raise --limit")


def _value(row: MessageRow) -> dict[str, Any]:
    values = asdict(row)
    del values["raw_id"]
    return values | {"id": row.id, "preview": row.preview.decode(errors="replace")}


def _cells(row: MessageRow) -> tuple[object, ...]:
    when = "" if row.score_ms is None else moment(row.score_ms)
    priority = "" if row.priority is None else row.priority
    return row.slot, row.id[:ID_SHOWN], when, priority, row.failures, row.error or ""


@command
@click.argument("topic")
def clusters(shell: Shell, topic: str) -> None:
    """Say what dead letters died of, most frequent first."""
    with shell.client() as rmq:
        found = Inspector(rmq).dead_clusters(topic)
    rows = [(each.count, each.fingerprint, each.error, each.example) for each in found]
    heads = ("dead letters", "fingerprint", "error", "example")
    shell.table([asdict(each) for each in found], heads, rows, "nothing is dead")
