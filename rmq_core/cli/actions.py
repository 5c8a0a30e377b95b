"""The commands that act on many messages: by id, all of a state, or by a filter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from rmq_core.cli.shell import Shell, Usage, command, complain
from rmq_core.cli.states import StateChoice
from rmq_core.client.control import Control
from rmq_core.client.inspector import Inspector
from rmq_core.errors import RMQError
from rmq_core.model.filters import FILTER_STATES, MessageFilter

BATCH = 1_000
WAITING = [state for state in FILTER_STATES if state not in ("dead", "trash")]


def chosen(run: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments that choose messages."""
    for parameter in (
        click.option("--until-ms", type=int, help="… then or earlier."),
        click.option("--since-ms", type=int, help="Due, died or removed then or later; epoch milliseconds."),
        click.option("--slot", type=int, help="Of this slot."),
        click.option("--fingerprint", help="Of a cluster of dead letters (see clusters)."),
        click.option("--error", help="In the class or the message of the failure."),
        click.option("--text", help="In the id or the content."),
        click.option("--dry-run", is_flag=True, help="Say how many, and change nothing."),
        click.option("--all", "everything", is_flag=True, help="Everything in the state."),
        click.argument("ids", nargs=-1),
        click.argument("topic"),
    ):
        run = parameter(run)
    return run


@command
@chosen
def requeue(shell: Shell, **given: Any) -> int:
    """Bring dead letters back into their queue.

    Those with the IDS given, or --all, or those that a filter selects now.
    """
    return _act(shell, "requeue", "requeued", "dead", **given)


@command
@chosen
def drop(shell: Shell, **given: Any) -> int:
    """Remove dead letters.

    For a while, restore brings them back.

    Those with the IDS given, or --all, or those that a filter selects now.
    """
    return _act(shell, "drop", "dropped", "dead", **given)


@command
@chosen
@click.option("--state", type=StateChoice(WAITING), default="delayed", help="Without IDS.")
def cancel(shell: Shell, state: str, **given: Any) -> int:
    """Take waiting messages out of their queue.

    For a while, restore brings them back.

    Those with the IDS given, or --all, or those that a filter selects now.
    """
    return _act(shell, "cancel", "cancelled", state, **given)


@command
@chosen
def restore(shell: Shell, **given: Any) -> int:
    """Bring back what was cancelled or dropped.

    Those with the IDS given, or --all, or those that a filter selects now.
    """
    return _act(shell, "restore", "restored", "trash", **given)


def _act(
    shell: Shell,
    name: str,
    past: str,
    state: str,
    topic: str,
    ids: tuple[str, ...],
    everything: bool,
    dry_run: bool,
    **fields: Any,
) -> int:
    wanted = {field: value for field, value in fields.items() if value not in ("", None)}
    if bool(ids) == (everything or bool(wanted)):
        raise Usage(f"{name} takes ids, or --all or a filter, " + ("not both" if ids else "one of them"))
    if ids and dry_run:
        raise Usage("--dry-run says what --all or a filter would take; ids are taken as they are")
    done = missing = 0
    with shell.client() as rmq:
        run, inspector = getattr(Control(rmq), name), Inspector(rmq)
        total = len(ids)
        batches: Iterator[Sequence[Any]] = iter([ids])
        if not ids:
            selects = MessageFilter.from_mapping({"state": state} | wanted)
            seen = inspector.preview(topic, selects)
            if dry_run:
                about = "" if seen.exact else "about "
                shell.show({"count": seen.count, "exact": seen.exact}, [f"{name} would take {about}{seen.count}"])
                return 0
            total, batches = seen.count, _selected(inspector, topic, selects)
        with shell.progress(name, total) as advance:
            try:
                for some in batches:
                    statuses = [result.status for result in run(topic, some)]
                    done += statuses.count("done")
                    missing += len(statuses) - statuses.count("done")
                    advance(len(statuses))
            except (RMQError, KeyboardInterrupt):
                if done:
                    complain(f"{past} {done} until then")
                raise
    shell.show({past: done, "not_found": missing}, [f"{past} {done}, not found {missing}"])
    return 1 if missing and ids else 0


def _selected(inspector: Inspector, topic: str, wanted: MessageFilter) -> Iterator[Sequence[Any]]:
    """The addresses of what a filter selects, a batch at a time."""
    cursor = None
    while True:
        found = inspector.select_refs(topic, wanted, cursor, scan=BATCH)
        if found.refs:
            yield found.refs
        cursor = found.next_cursor
        if cursor is None:
            return
