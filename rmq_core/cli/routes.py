"""``routes``, ``route``, ``forward``, ``redrive``: what is forwarded from topic to topic, and who does it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import platform
import signal
from dataclasses import replace
from typing import Any

import click

from rmq_core.cli.shell import Shell, Usage, command, complain, silent
from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.client.control import Control
from rmq_core.client.inspector import Inspector
from rmq_core.errors import InvalidRoute, UnknownRoute
from rmq_core.model.route import Route, Target
from rmq_core.routes.status import RouteStatus
from rmq_core.worker.routing import Routing

HEADS = ("route", "from", "to", "state", "waiting", "forwarded", "filtered", "parked", "problem")


@command
def routes(shell: Shell) -> None:
    """List the routes, and how they do."""
    with shell.client() as rmq:
        found = Inspector(rmq).routes()
    shell.table([_value(status) for status in found], HEADS, [_row(status) for status in found], "no routes")


@command
@click.argument("name")
@click.option("--from", "source", metavar="TOPIC", help="Of a route to make: where it takes from.")
@click.option(
    "--to", "targets", multiple=True, metavar="TOPIC|JSON",
    help='Where it forwards to; may be given several times: a topic, or as {"topic": "mail", "priority": 50, "when":'
    ' {"event": "final"}, "key": "{id}"}, with in_ms or range_ms for other kinds; "priority_from":'
    ' "header:rank" for messages that say their priority.',
)  # fmt: skip
@click.option("--start", type=click.Choice(["start", "end"]), help="Of a stream: where a new route begins (end).")
@click.option("--pause/--resume", default=None, help="Stop the forwarding, or start it again.")
@click.option("--delete", is_flag=True, help="Delete it; what was not forwarded stays where it is.")
@click.option("--force", is_flag=True, help="Delete it with what its targets have not got yet.")
def route(
    shell: Shell,
    name: str,
    source: str | None,
    targets: tuple[str, ...],
    start: str | None,
    pause: bool | None,
    delete: bool,
    force: bool,
) -> None:
    """Show a route, make one, edit, pause, resume or delete it.

    Make it by --from and --to; --to alone gives it other targets.
    """
    if delete and (source or targets or pause is not None):
        raise Usage("--delete goes alone")
    wanted = tuple(_target(text) for text in targets)
    with shell.client() as rmq:
        control, inspector = Control(rmq), Inspector(rmq)
        if delete:
            control.delete_route(name, force)
            shell.show({"deleted": name}, ["deleted"])
            return
        if source or wanted:
            _put(control, inspector, name, source, wanted, start)
        if pause is not None:
            (control.pause_route if pause else control.resume_route)(name)
        (status,) = inspector.routes(name)
    value = _value(status)
    shell.show(
        value, [f"{field}: {json.dumps(each) if isinstance(each, list) else each}" for field, each in value.items()]
    )


def _put(
    control: Control, inspector: Inspector, name: str, source: str | None, wanted: tuple[Target, ...], start: str | None
) -> None:
    try:
        (before,) = inspector.routes(name)
    except UnknownRoute:
        if not source or not wanted:
            raise Usage(f"there is no route {name!r}: --from and --to make it") from None
        control.put_route(Route(name, source, wanted, start or "end"), 0)
        return
    changed = replace(before.route, source=source or before.route.source, targets=wanted or before.route.targets)
    control.put_route(replace(changed, start=start or changed.start), before.route.version)


@silent
@click.argument("names", nargs=-1)
@click.option("--name", "runner", help="Unique among those who run routes (the host and process).")
def forward(shell: Shell, names: tuple[str, ...], runner: str | None) -> None:
    """Run routes (all, or those NAMES) until SIGTERM or Ctrl-C.

    Beside the console's keeper, or without one.

    Any number may: each message is forwarded once, in its order.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    with shell.client() as rmq:
        known = {status.route.name for status in Inspector(rmq).routes()} if names else set(names)
        for missing in sorted(set(names) - known):
            complain(f"there is no route {missing!r}; it is run as soon as there is")
    asyncio.run(_forward(shell, names, runner or f"{platform.node()}/{os.getpid()}"))


async def _forward(shell: Shell, names: tuple[str, ...], runner: str) -> None:
    async with AsyncRMQ(shell.url, shell.namespace) as client:
        routing = Routing(client, runner, names)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, routing.stop)
        await routing.run()


@command
@click.argument("topic")
@click.argument("ids", nargs=-1, required=True)
@click.option("--to", "target", required=True, metavar="TOPIC|JSON", help="As of a route; see rmq route.")
@click.option("--dry-run", is_flag=True, help="Only say what each would become.")
def redrive(shell: Shell, topic: str, ids: tuple[str, ...], target: str, dry_run: bool) -> int:
    """Move dead letters to another topic.

    They are sent there, then dropped here, and can be restored.
    """
    with shell.client() as rmq:
        if dry_run:
            planned = Control(rmq).plan_redrive(topic, list(ids), _target(target))
            rows = [(each.ref.id, each.status, each.slot, each.id, each.reason) for each in planned]
            heads = ("id", "status", "to_slot", "to_id", "reason")
            shell.table([dict(zip(heads, row, strict=True)) for row in rows], heads, rows, "nothing")
            return 0 if all(each.status == "done" for each in planned) else 1
        results = Control(rmq).redrive(topic, list(ids), _target(target))
    shell.table(
        [{"slot": ref.slot, "id": ref.id, "status": status} for ref, status in results],
        ("id", "slot", "status"),
        [(ref.id, ref.slot, status) for ref, status in results],
        "nothing",
    )
    return 0 if all(status == "done" for _, status in results) else 1


def _target(text: str) -> Target:
    if not text.lstrip().startswith("{"):
        return Target(text)
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Usage(f"--to {text:.200}: this is no JSON: {error}") from None
    try:
        return Route("x", "x", (given,)).targets[0]
    except InvalidRoute as error:
        raise Usage(f"--to {text}: {error}") from None


def _value(status: RouteStatus) -> dict[str, Any]:
    route = status.route.to_dict()
    told = ("queue", "state", "waiting", "behind_ms", "in_flight", "dead", "on_its_way", "forwarded", "filtered")
    more = ("parked", "refused", "problem", "problem_ms", "last_ms")
    return {**route, **{name: getattr(status, name) for name in (*told, *more)}, "runners": list(status.runners)}


def _row(status: RouteStatus) -> tuple[Any, ...]:
    route = status.route
    waiting = "unknown" if status.waiting is None else status.waiting
    targets = ", ".join(target.topic for target in route.targets)
    counts = (waiting, status.forwarded, status.filtered, status.parked)
    return (route.name, route.source, targets, status.state, *counts, status.problem)
