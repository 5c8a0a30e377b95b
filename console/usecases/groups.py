"""What is done to consumer groups: made, given settings, moved to another position, rid of what a member left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from console.access import Action, require
from console.engine import engine, sample_of
from console.errors import BadRequest
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason
from rmq_core.figures import digits
from rmq_core.model.group import AT, Group, split
from rmq_core.queries import stored_groups
from rmq_core.queries.owners import to_ranges
from rmq_core.streams import groups
from rmq_core.streams.members import Claimed
from rmq_core.streams.positions import Moved, Where

CHANGES_KEPT = 200


def stored(name: str) -> Group | None:
    """A group as it is now, None where there is none. Raises `UnknownTopic`, `WrongKind`, `InvalidTopic`."""
    topic, group = split(name)
    client = engine().client
    client.forget(name)
    return client.run(client.on_stream(stored_groups.find, topic, group))


def make(actor: Actor, name: str, start: Where, settings: Mapping[str, Any], reason: str = "") -> Group:
    """Makes a group. Raises `Forbidden`, `BadRequest`, `VersionConflict` (it is there), the engine's errors."""
    query = {"start": str(start), **settings}
    with audited(actor, Action.CREATE_GROUP, topic=name, query=query, reason=reason) as entry:
        require(actor.user, Action.CREATE_GROUP, name)
        check_reason(reason)
        topic, group = split(name)
        client = engine().client
        made = client.run(client.on_stream(groups.make, topic, group, start, settings))
        entry.done = 1
    return made


def change(actor: Actor, name: str, settings: Mapping[str, Any], reason: str = "", seen: Group | None = None) -> Group:
    """Gives a group settings of its own; None: its topic's again. `seen`: only as that version. Raises `Forbidden`, the
    engine's errors."""
    with audited(actor, Action.EDIT_GROUP, topic=name, query=dict(settings), reason=reason) as entry:
        require(actor.user, Action.EDIT_GROUP, name)
        check_reason(reason)
        changed = engine().control.change_group(name, seen=seen, **settings)
        entry.done = 1
    return changed


def own_settings(group: Group) -> list[str]:
    """The settings that are the group's own; the others are its topic's."""
    client = engine().client
    own = client.run(client.on_stream(stored_groups.own_settings, group.topic_name, group.group))
    return sorted(own.intersection(SETTINGS))


SETTINGS = ("max_retries", "visibility_timeout_ms", "backoff_ms", "backoff_max_ms", "weight", "rate_limit", "undo_ms")
"""What a person sets of a group; whether it is paused is an action of its own."""


def plan_move(name: str, where: Where, slots: Sequence[int]) -> list[dict[str, Any]]:
    """What a new position would do, slot by slot, and change nothing. Raises `InvalidMessage`, `UnknownTopic`."""
    _check_slots(name, slots)
    before = _behind(name)
    moved = engine().control.set_position(name, where, list(slots) or None, dry_run=True)
    return [_step(each, before) for each in moved]


def move(actor: Actor, name: str, where: Where, slots: Sequence[int], reason: str) -> list[dict[str, Any]]:
    """Has a group read on from another place. Raises `Forbidden`, `BadRequest`, the engine's errors."""
    query = {"to": str(where)} | ({"slots": to_ranges(slots)} if slots else {})
    with audited(actor, Action.MOVE_GROUP, topic=name, query=query, reason=reason) as entry:
        require(actor.user, Action.MOVE_GROUP, name)
        check_reason(reason, needed=True)
        _check_slots(name, slots)
        before = _behind(name)
        moved = [_step(each, before) for each in engine().control.set_position(name, where, list(slots) or None)]
        entry.asked = entry.done = len(moved)
        entry.detail = {"slots": moved[:CHANGES_KEPT]}
    return moved


def _check_slots(name: str, slots: Sequence[int]) -> None:
    last = engine().client.topic(name).slots - 1
    if outside := [slot for slot in slots if not 0 <= slot <= last]:
        raise BadRequest(
            gettext("Slot %(slot)d is not one of this topic: they go from 0 to %(last)s.")
            % {"slot": outside[0], "last": digits(last)}
        )


def _behind(name: str) -> list[str | None]:
    """The entry that the group read last, by slot."""
    return [slot.behind for slot in sample_of(name).slots]


def _step(moved: Moved, before: Sequence[str | None]) -> dict[str, Any]:
    found = moved._asdict()
    found["behind_before"] = before[moved.slot]
    return found


def plan_claim(name: str, member: str, force: bool = False) -> list[Claimed]:
    """What a claim would bring back, and change nothing."""
    return engine().control.claim(name, member, dry_run=True, force=force)


def claim(actor: Actor, name: str, member: str, force: bool, reason: str) -> list[Claimed]:
    """Has what a member holds come back at once, uncounted. Raises `Forbidden`, `BadRequest`."""
    query = {"member": member, "force": force}
    with audited(actor, Action.CLAIM, topic=name, query=query, reason=reason) as entry:
        require(actor.user, Action.CLAIM, name)
        check_reason(reason, needed=True)
        claimed = engine().control.claim(name, member, force=force)
        entry.asked = sum(each.entries + each.kept for each in claimed)
        entry.done = sum(each.entries for each in claimed)
        entry.detail = {"slots": [each._asdict() for each in claimed[:CHANGES_KEPT]]}
        entry.result = entry.Result.of(entry.done, entry.done == entry.asked)
    return claimed


def name_of(topic: str, group: str) -> str:
    """The queue of a group of a topic. Raises `InvalidTopic`."""
    name = f"{topic}{AT}{group}"
    split(name)
    return name
