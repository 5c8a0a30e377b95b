"""Which worker owns which slots, and what an operator may say to that."""

from __future__ import annotations

from dataclasses import asdict

import click

from rmq_core.cli.shell import Shell, command, complain
from rmq_core.client.control import Control
from rmq_core.client.inspector import Inspector
from rmq_core.client.rmq import RMQ
from rmq_core.queries.owners import to_ranges


@command
@click.argument("topic")
def owners(shell: Shell, topic: str) -> None:
    """Say who owns which slots of a topic."""
    with shell.client() as rmq:
        found = Inspector(rmq).assignment(topic)
    slots: dict[str | None, list[int]] = {}
    for owner in found:
        slots.setdefault(owner.worker, []).append(owner.slot)
    ranked = sorted(slots.items(), key=lambda item: (item[0] is not None, item[0] or ""))
    rows = [(worker or "(nobody)", len(held), "slots", to_ranges(held)) for worker, held in ranked]
    shell.table([asdict(owner) for owner in found], ("worker", "owns", "", "which"), rows, "it has no slots")


def _changed(shell: Shell, changed: bool, past: str) -> None:
    shell.show({"changed": changed}, [past if changed else "it was so already"])


def _note_unseen(rmq: RMQ, worker: str) -> None:
    """It may come yet; but a misspelt name is noted, too, and moves nothing."""
    if worker not in {each.name for each in Inspector(rmq).workers()}:
        complain(f"no worker {worker!r} was seen lately; this holds for one that comes with that name")


@command
@click.argument("worker")
def drain(shell: Shell, worker: str) -> None:
    """Take every slot from a worker."""
    with shell.client() as rmq:
        _changed(shell, Control(rmq).drain(worker), "drained")
        _note_unseen(rmq, worker)


@command
@click.argument("worker")
def undrain(shell: Shell, worker: str) -> None:
    """Let a worker have slots again."""
    with shell.client() as rmq:
        _changed(shell, Control(rmq).undrain(worker), "undrained")


@command
@click.argument("topic")
@click.argument("slot", type=int)
@click.argument("worker")
def pin(shell: Shell, topic: str, slot: int, worker: str) -> None:
    """Give a slot to one worker whenever it is there."""
    with shell.client() as rmq:
        _changed(shell, Control(rmq).pin(topic, slot, worker), "pinned")
        _note_unseen(rmq, worker)


@command
@click.argument("topic")
@click.argument("slot", type=int)
def unpin(shell: Shell, topic: str, slot: int) -> None:
    """Let a slot go to whoever."""
    with shell.client() as rmq:
        _changed(shell, Control(rmq).unpin(topic, slot), "unpinned")


@command
@click.argument("topic")
def unfence(shell: Shell, topic: str) -> int:
    """Hand a topic's slots back to workers without ZooKeeper."""
    with shell.client() as rmq:
        if owning := [worker.name for worker in Inspector(rmq).workers() if worker.owns_slots_of(topic)]:
            complain(f"stop its workers with ZooKeeper first: {', '.join(owning)}")
            return 1
        number = Control(rmq).unfence(topic)
    shell.show({"slots": number}, [f"{number} slots handed back to shared mode"])
    return 0
