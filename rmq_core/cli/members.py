"""``members``, ``claim``, ``pause``, ``resume`` and ``stuck``: who works on a consumer group, and how that goes."""

from __future__ import annotations

import time
from dataclasses import asdict

import click

from rmq_core.cli.shell import Shell, Usage, command, complain
from rmq_core.client.control import Control
from rmq_core.client.inspector import Inspector
from rmq_core.client.rmq import RMQ
from rmq_core.queries.owners import to_ranges
from rmq_core.streams.course import LEAST_MS, Moment, judge

HEADS = ("member", "has", "oldest", "slots", "taken", "acked", "failed", "acked/s", "seen", "")
LOOKS = 20


@command
@click.argument("group", metavar="TOPIC@GROUP")
def members(shell: Shell, group: str) -> None:
    """List who takes from a consumer group, and what each has in flight."""
    with shell.client() as rmq:
        inspector = Inspector(rmq)
        found, now_ms = inspector.members(group), inspector.now_ms()
    rows = [
        (
            each.name or "(no name)",
            each.held,
            _ago(now_ms, each.oldest_taken_ms),
            to_ranges(list(each.slots)),
            *(each.taken, each.acked, each.failed, f"{each.acked_per_s:.1f}"),
            _ago(now_ms, each.seen_ms),
            {True: "running", False: "lost", None: ""}[each.alive],
        )
        for each in found
    ]
    shell.table([asdict(each) for each in found], HEADS, rows, "nobody has taken from it")


def _ago(now_ms: int, at_ms: int | None) -> str:
    return "-" if at_ms is None else f"{max(0, now_ms - at_ms) / 1000:.1f} s"


@command
@click.argument("group", metavar="TOPIC@GROUP")
@click.argument("member")
@click.option("--dry-run", is_flag=True, help="Only say what would come back.")
@click.option("--force", is_flag=True, help="Also what a worker has that runs; its answer will be stale.")
def claim(shell: Shell, group: str, member: str, dry_run: bool, force: bool) -> None:
    """Have what a member of a group has in flight come back at once, uncounted.

    What a worker has that runs is left to it. It is handed out alone first, for it may be what ended the member. With
    '' for MEMBER: what everybody has that gave no name.
    """
    with shell.client() as rmq:
        found = Control(rmq).claim(group, member, dry_run=dry_run, force=force)
    rows = [tuple(each) for each in found]
    shell.table([each._asdict() for each in found], ("slot", "entries", "kept"), rows, "it has nothing")
    if kept := sum(each.kept for each in found):
        complain(f"{kept} were left to {member!r}, which runs and has them; --force takes those, too")


@command
@click.argument("topic")
@click.option("--until-ms", type=int, help="Of a group: until then, epoch milliseconds; then it goes on by itself.")
@click.option("--for-ms", type=click.IntRange(1), help="Of a group: for so long.")
def pause(shell: Shell, topic: str, until_ms: int | None, for_ms: int | None) -> None:
    """Stop the taking from a topic, or a group (TOPIC@GROUP).

    Sending goes on.
    """
    if until_ms is not None and for_ms is not None:
        raise Usage("--until-ms or --for-ms, not both")
    with shell.client() as rmq:
        if for_ms is not None:
            until_ms = Inspector(rmq).now_ms() + for_ms
        Control(rmq).pause(topic, until_ms)
    shell.show({"paused": True, "until_ms": until_ms}, ["paused"])


@command
@click.argument("topic")
def resume(shell: Shell, topic: str) -> None:
    """Start the taking from a topic, or a group (TOPIC@GROUP), again."""
    with shell.client() as rmq:
        Control(rmq).resume(topic)
    shell.show({"paused": False}, ["resumed"])


@command
@click.argument("group", metavar="TOPIC@GROUP")
@click.option("--for-ms", type=click.IntRange(100), default=2 * LEAST_MS, help="Look at it for so long.")
def stuck(shell: Shell, group: str, for_ms: int) -> None:
    """Say whether a group is stuck, by its course.

    That is: what it reads, and whether what is ahead of it gets less.
    """
    with shell.client() as rmq:
        rmq.topic(group)
        verdict = judge(_course(rmq, group, for_ms), for_ms // 2)
    shell.show(asdict(verdict), [verdict.text])


def _course(rmq: RMQ, group: str, for_ms: int) -> list[Moment]:
    """Looked at some times; no longer than needed to see that it reaches the end."""
    inspector, seen = Inspector(rmq), list[Moment]()
    for look in range(LOOKS):
        if look:
            time.sleep(for_ms / (LOOKS - 1) / 1000)
        seen += [Moment.of(sample) for sample in inspector.sample([group])]
        if seen[-1].lag == 0 or seen[-1].paused:
            break
    return seen
