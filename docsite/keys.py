"""The keys in Redis, as `rmq_core.protocol.keys` builds and describes them."""

from __future__ import annotations

import inspect

from docsite.described import attributes
from docsite.tables import table
from rmq_core.protocol.keys import OWN_KEYS, Keyspace, SlotKeys

TOPIC, SLOT, ROLE, GROUP = "price", 3, "keeper", "statistics"


def of_slots() -> str:
    """One row for each key of slot 3 of the topic `price`. One that nobody has described is a `KeyError`."""
    keys, texts = Keyspace().slot(TOPIC, SLOT), attributes(SlotKeys)
    rows = [(f"`{getattr(keys, name)}`", texts[name]) for name in OWN_KEYS]
    of_group = Keyspace().slot(f"{TOPIC}@{GROUP}", SLOT)
    rows += ((f"`{getattr(of_group, name)}`", texts[name]) for name in ("open", "members"))
    rows.append((f"`{keys.positions}`", inspect.getdoc(SlotKeys.positions) or ""))
    rows.append((f"`{keys.sender('…')}`", inspect.getdoc(SlotKeys.sender) or ""))
    rows.append((_names(keys.reports), inspect.getdoc(SlotKeys.reports) or ""))
    rows.append((f"`{keys.restoring}`", inspect.getdoc(SlotKeys.restoring) or ""))
    for built in (SlotKeys.on_its_way, SlotKeys.received):
        rows.append((f"`{built(keys, 1764000000000)}`", inspect.getdoc(built) or ""))
    return table(["key", "holds"], rows)


def of_topics() -> str:
    """What a topic has once, and the namespace."""
    keyspace, texts = Keyspace(), attributes(Keyspace)
    own = {name: value for name, value in vars(keyspace).items() if isinstance(value, str) and name != "namespace"}
    rows = [(f"`{key}`", texts[name]) for name, key in own.items()]
    builders = (
        keyspace.hints,
        keyspace.limits,
        keyspace.owners,
        keyspace.journal_readers,
        keyspace.groups,
        keyspace.wake,
    )
    rows += [(_names(build(TOPIC)), inspect.getdoc(build) or "") for build in builders]
    rows.append((_names(keyspace.routes), inspect.getdoc(Keyspace.routes) or ""))
    rows.append((f"`{keyspace.route_changes}`", inspect.getdoc(Keyspace.route_changes) or ""))
    rows.append((_names(keyspace.route_stats("gates")), inspect.getdoc(keyspace.route_stats) or ""))
    rows.append((_names(keyspace.election(ROLE)), inspect.getdoc(keyspace.election) or ""))
    return table(["key", "holds"], rows)


def _names(keys: str | tuple[str, ...]) -> str:
    return ", ".join(f"`{key}`" for key in ([keys] if isinstance(keys, str) else keys))
