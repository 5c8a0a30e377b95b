"""The commands that act on many messages: by id, all of a state, or by a filter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import click

from rmq_core.cli.shell import Shell, Usage, command, complain
from rmq_core.cli.states import StateChoice
from rmq_core.client.control import Control
from rmq_core.client.inspector import Inspector
from rmq_core.client.rmq import RMQ
from rmq_core.errors import RMQError
from rmq_core.figures import duration
from rmq_core.model.costs import STEP, Cost, cost
from rmq_core.model.filters import FILTER_STATES, MessageFilter
from rmq_core.ops.matching import MatchingAction, MatchingResult, act_matching
from rmq_core.queries.ends import expire_first
from rmq_core.queries.present import now_of

CONFIRM_ABOVE = 100_000
BACKLOG = [state for state in FILTER_STATES if state not in ("dead", "trash")]


def chosen(run: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments that choose messages."""
    for parameter in (
        click.option("--until-ms", type=int, help="… then or earlier."),
        click.option("--since-ms", type=int, help="Due, died or removed then or later; epoch milliseconds."),
        click.option("--slot", type=int, help="Of this slot."),
        click.option("--fingerprint", help="Of a cluster of dead letters (see clusters)."),
        click.option("--tenant", help="Whose they are; '': nobody's."),
        click.option("--error", help="In the class or the message of the failure."),
        click.option("--where", help="Holds for the content, which is JSON: order.total > 100."),
        click.option("--text", help="In the id or the content."),
        click.option("--dry-run", is_flag=True, help="Say how many and what it costs, and change nothing."),
        click.option("--yes", is_flag=True, help=f"Also where it takes more than {CONFIRM_ABOVE:,}."),
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
@click.option("--state", type=StateChoice(BACKLOG), default="delayed", help="Of these, where no IDS are given.")
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


@command
@chosen
@click.option("--state", type=StateChoice(BACKLOG), default="delayed", help="Of these, where no IDS are given.")
def run_now(shell: Shell, state: str, **given: Any) -> int:
    """Make waiting messages ready at once.

    Those with the IDS given, or --all, or those that a filter selects now.
    """
    return _act(shell, "run_now", "made ready", state, **given)


@command
@chosen
@click.option("--state", type=StateChoice(BACKLOG), default="delayed", help="Of these, where no IDS are given.")
@click.option("--due-ms", type=int, help="The new due time, in epoch milliseconds.")
@click.option("--in-ms", type=click.IntRange(min=0), help="The new due time, from now by the server's clock.")
@click.option("--priority", type=int, help="Of messages of a priority topic.")
def reschedule(
    shell: Shell, state: str, due_ms: int | None, in_ms: int | None, priority: int | None, **given: Any
) -> int:
    """Give waiting messages another due time, or another priority.

    Those with the IDS given, or --all, or those that a filter selects now.
    """
    if sum(each is not None for each in (due_ms, in_ms, priority)) != 1:
        raise Usage("reschedule takes --due-ms, --in-ms or --priority, one of them")
    new = {"due_ms": due_ms, "in_ms": in_ms, "priority": priority}
    return _act(shell, "reschedule", "rescheduled", state, new=new, **given)


def _act(
    shell: Shell,
    name: MatchingAction,
    past: str,
    state: str,
    topic: str,
    ids: tuple[str, ...],
    everything: bool,
    dry_run: bool,
    yes: bool,
    new: dict[str, int | None] | None = None,
    **fields: Any,
) -> int:
    words = name.replace("_", "-")
    given = {field: value for field, value in fields.items() if value is not None}
    wanted = {field: value for field, value in given.items() if value != "" or field == "tenant"}
    if bool(ids) == (everything or bool(wanted)):
        raise Usage(f"{words} takes ids, or --all or a filter, " + ("not both" if ids else "one of them"))
    if ids and dry_run:
        raise Usage("--dry-run says what --all or a filter would take; ids are taken as they are")
    with shell.client() as rmq:
        values = _due(rmq, topic, new) if new else {}
        if ids:
            statuses = [result.status for result in getattr(Control(rmq), name)(topic, ids, **values)]
            done, late = statuses.count("done"), statuses.count("expires_first")
            missing = len(statuses) - done - late
        else:
            selects = MessageFilter.from_mapping({"state": state} | wanted)
            seen = Inspector(rmq).preview(topic, selects)
            about = "" if seen.exact else "about "
            price = cost(name, seen.count, seen.total if wanted else 0)
            if dry_run:
                ends = rmq.run(rmq.on_topic(expire_first, topic, name, selects, values.get("due_ms")))
                told: dict[str, Any] = {"state": state, "count": seen.count, "exact": seen.exact}
                told["cost"] = asdict(price)
                lines = [f"{words} would take {about}{seen.count} of what is {state.replace('_', ' ')}", _price(price)]
                if ends.late:
                    told |= {"expires_first": ends.late, "expires_looked_at": ends.looked_at}
                    lines.append(f"of the first {ends.looked_at}, {ends.late} expire first: they stay where they are")
                shell.show(told, lines)
                return 0
            if seen.count > CONFIRM_ABOVE and not yes:
                raise click.ClickException(
                    f"{words} would take {about}{seen.count:,}, {_price(price)}. Give --yes to do it"
                )
            done, missing, late = _act_matching(shell, rmq, topic, name, past, selects, seen.count, values)
    counts, line = {past.replace(" ", "_"): done, "not_found": missing}, f"{past} {done}, not found {missing}"
    if late:
        counts["expires_first"] = late
        line += f", left where they are, for they expire first {late}"
    shell.show(counts, [line])
    return 1 if (missing or late) and ids else 0


def _price(price: Cost) -> str:
    """What it costs, in words."""
    looks = f" looks at {price.looks:,} messages and" if price.looks else ""
    return (
        f"it{looks} takes about {duration(price.for_ms)}, {duration(price.redis_ms)} of them of Redis, in steps of"
        f" at most {STEP:,} between which it can be stopped"
    )


def _act_matching(
    shell: Shell,
    rmq: RMQ,
    topic: str,
    name: MatchingAction,
    past: str,
    wanted: MessageFilter,
    total: int,
    values: dict[str, int],
) -> tuple[int, int, int]:
    """How many it was done to, how many were gone, and how many expire first."""
    done = missing = late = 0
    with shell.progress(name.replace("_", "-"), total) as advance:

        def note(so_far: MatchingResult) -> None:
            nonlocal done, missing, late
            before = done + missing + late
            done, late = so_far.done, so_far.expires_first
            missing = so_far.in_flight + so_far.not_found + so_far.occupied + so_far.gone
            advance(done + missing + late - before)

        try:
            rmq.run(rmq.on_topic(act_matching, topic, name, wanted, progress=note, **values))
        except (RMQError, KeyboardInterrupt):
            if done:
                complain(f"{past} {done} until then")
            raise
    return done, missing, late


def _due(rmq: RMQ, topic: str, new: dict[str, int | None]) -> dict[str, int]:
    """The new due time or priority; what counts from now does so by the server's clock."""
    values = {name: value for name, value in new.items() if value is not None}
    if "in_ms" in values:
        values = {"due_ms": rmq.run(rmq.on_topic(now_of, topic)) + values["in_ms"]}
    return values
