"""Where a message lives: its slot, and every Redis key, built in one place."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32 as crc32

from rmq_core.errors import ConfigurationError
from rmq_core.model.topic import Topic

_NAMESPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def slot_for(basis: bytes, slots: int) -> int:
    """CRC-32 (the one of zlib and PNG) of the basis, modulo the slot amount."""
    return crc32(basis) % slots


@dataclass(frozen=True, slots=True)
class SlotKeys:
    """The keys of one slot; the hash tag keeps all of them on one node of a Cluster.

    ``entries``: of a topic the same as the store; a ``group`` has keys of its own beside the entries of its topic.
    """

    entries: str
    group: str = ""
    store: str = field(init=False)
    """Sorted set: what waits; id → by kind a due time, a priority, or a place among equals. Of a stream topic a stream:
    its entries."""
    retry: str = field(init=False)
    """Sorted set: what failed and waits for its next try, or is held; id → due time, or hold, and failures."""
    prepare: str = field(init=False)
    """Sorted set: what is in flight; id → when it was taken and its retries. This score is the receipt."""
    dead: str = field(init=False)
    """Sorted set: dead letters; id → when it died."""
    body: str = field(init=False)
    """Hash: id → body, of messages that are more than their id."""
    failed: str = field(init=False)
    """Hash: id → failure record."""
    priority: str = field(init=False)
    """Hash: id → original priority, of those that do not have it as their score; of what is held its place."""
    stats: str = field(init=False)
    """Hash: the counters of the ledger, and the marks of the slot."""
    journal: str = field(init=False)
    """Stream: every change, where the topic's journal is on."""
    tenants: str = field(init=False)
    """Sorted set: tenants by what was sent and taken of theirs lately, at most 256 (``lua/shared/load.lua``)."""
    lanes: str = field(init=False)
    """Sorted set: tenants of what waits, where they take turns → next turn and lane (``lua/shared/lanes.lua``)."""
    turns: str = field(init=False)
    """Sorted set, on Cluster: what `Keyspace.turns` is elsewhere."""
    spill: str = field(init=False)
    """Hash: milliseconds that are full → where equal due times go on."""
    replaced: str = field(init=False)
    """Hash: id → body of the copy in flight while another one waits."""
    dead_record: str = field(init=False)
    """Hash: id → body, failure record and priority of a dead letter."""
    lateness: str = field(init=False)
    """Hash: the histogram of delivered minus due."""
    fence: str = field(init=False)
    """String: the highest epoch of an owner."""
    cause: str = field(init=False)
    """Hash: id → the cluster that a dead letter is counted in."""
    clusters: str = field(init=False)
    """Hash: cluster → how many dead letters, since when, until when, an example."""
    trash: str = field(init=False)
    """Sorted set: what was cancelled or dropped; id → when."""
    trashed: str = field(init=False)
    """Hash: id → the removed message, packed."""
    quota: str = field(init=False)
    """String: the slot's part of the topic's `max_backlog`."""
    origin: str = field(init=False)
    """Hash: id → what was taken together with it."""
    suspect: str = field(init=False)
    """Hash: ids that were in flight when their process died: they run alone."""
    once_a: str = field(init=False)
    """Hash, which ends by itself: ids that are not accepted again for a while → when they were (`unique_for_ms`)."""
    once_b: str = field(init=False)
    """Hash: the same, of the period before or after."""
    seen_a: str = field(init=False)
    """Hash, which ends by itself: ids → the highest version that was handed out (`versions_for_ms`)."""
    seen_b: str = field(init=False)
    """Hash: the same, of the period before or after."""
    owed: str = field(init=False)
    """Stream: messages that died and are followed by others, which have still to be sent (`ops.chains`)."""
    order_last: str = field(init=False)
    """Hash: key → the version of it that was handled last (`in_order`)."""
    order_waits: str = field(init=False)
    """Sorted set, by text: keys and versions that wait for a version before them."""
    order_since: str = field(init=False)
    """Sorted set: such keys → since when their order has not moved."""
    open: str = field(init=False)
    """Sorted set, of a group: entries that are read and not finished; id → their number in the slot."""
    members: str = field(init=False)
    """Hash, of a group: who takes from it → how much, and when last."""

    def __post_init__(self) -> None:
        of = f"@{self.group}" if self.group else ""
        for name in (*OWN_KEYS, "open", "members"):
            object.__setattr__(self, name, f"{name}{of}{{{self.entries}}}")
        if not self.group:
            object.__setattr__(self, "store", self.entries)

    @property
    def positions(self) -> str:
        """Hash, of a stream topic: group → where it stands (``lua/shared/positions.lua``)."""
        return f"positions{{{self.entries}}}"

    @property
    def reports(self) -> tuple[str, str]:
        """What listeners told of messages (a hash), and how long it is kept (a sorted set); they end by themselves."""
        of = f"@{self.group}" if self.group else ""
        return f"reports{of}{{{self.entries}}}", f"reports-end{of}{{{self.entries}}}"

    @property
    def restoring(self) -> str:
        """Hash, which ends by itself: the restore that is under way, and how far each of its tasks has come."""
        return f"restoring{{{self.entries}}}"

    def on_its_way(self, created_ms: int) -> str:
        """Stream, on Cluster: what routes took from this life of the slot, and are bringing to their targets."""
        of = f"@{self.group}" if self.group else ""
        return f"outbound-{created_ms}{of}{{{self.entries}}}"

    def received(self, created_ms: int) -> str:
        """Hash, on Cluster: what this life of the slot got last from each slot that routes bring to it from."""
        return f"received-{created_ms}{{{self.entries}}}"

    def all(self) -> tuple[str, ...]:
        """Every key of the slot itself, without the topic's hints."""
        return tuple(getattr(self, name) for name in OWN_KEYS)

    def sender(self, name: str) -> str:
        """String, which ends by itself: the last calls of one sender to a stream topic's slot."""
        return f"sender-{name}{{{self.store}}}"


QUEUES = 4
"""The first so many keys are the queues that hold messages: store, retry, prepare, dead."""

# The order is the scripts' contract: KEYS[1] is the store, KEYS[2] the retry queue, and so on. `heads` and `due` are
# the topic's hints (`Keyspace.hints`).
QUEUE_KEYS = (
    *("store", "retry", "prepare", "dead", "body", "failed", "priority", "stats", "journal"),
    *("spill", "replaced", "dead_record", "heads", "tenants", "lanes", "turns", "due", "lateness", "fence"),
    *("cause", "clusters", "trash", "trashed", "quota", "origin", "suspect", "once_a", "once_b"),
    *("seen_a", "seen_b", "owed", "order_last", "order_waits", "order_since"),
)
OWN_KEYS = tuple(name for name in QUEUE_KEYS if name not in {"heads", "due"})
# Behind `QUEUE_KEYS` a group has: open, the entries, their counters, the positions, its members.

STATS = QUEUE_KEYS.index("stats")
ENTRY_STATS = len(QUEUE_KEYS) + 2

SENDING = QUEUE_KEYS.index("heads") + 1
"""Sending needs the first so many keys; it happens one by one, so every key counts."""

SENDING_BODIES = SENDING + 3
"""What has a body may name a tenant, and tenants may take turns."""


class Keyspace:
    """Builds every key and channel of one namespace. Raises `ConfigurationError` for a bad namespace.

    ``spread``: keys are on several nodes, so that a script cannot write the topic's hints beside its slot.
    """

    def __init__(self, namespace: str = "rmq", *, spread: bool = True) -> None:
        if not isinstance(namespace, str) or _NAMESPACE.fullmatch(namespace) is None:
            raise ConfigurationError(
                f"namespace {namespace!r} must be 1 to 64 letters, digits, '_', '.' or '-', beginning with"
                " a letter or digit"
            )
        self.namespace = namespace
        self.spread = spread
        self.topics = f"{namespace}:topics"
        """Hash: name → definition."""
        self.deleted = f"deleted{{{namespace}:topics}}"
        """Hash: name → when a topic of that name was deleted."""
        self.format = f"format{{{namespace}:topics}}"
        """String: the number of the form in which the namespace's data is kept."""
        self.data_set = f"data-set{{{namespace}:topics}}"
        """String: when the namespace began (ms), and a random word; archives know by it whose they are."""
        self.restored = f"restored{{{namespace}:topics}}"
        """String: when everything was last restored out of an archive (ms)."""
        self.rehearsed = f"rehearsed{{{namespace}:topics}}"
        """String: of which other namespace, and of which moment (ms), a rehearsal has filled this one."""
        self.workers = f"{namespace}:workers"
        """Hash: name → what a worker last said of itself."""
        self.changes = f"{namespace}:changes"
        """Channel: names of topics whose definition has changed."""
        self.overrides = f"{namespace}:wishes"
        """Hash, and channel: placement overrides, the drains and pins."""
        self._slots: dict[str, list[tuple[str, ...]]] = {}
        self.places: dict[str, tuple[Topic, dict[int, tuple[tuple[str, ...], tuple[Any, ...]]]]] = {}
        """What `scripts` remembers of the last definition seen of each topic."""

    def slot(self, topic: str, slot: int) -> SlotKeys:
        """The named keys of one slot; ``topic`` may be a group, as ``<topic>@<group>``."""
        name, _, group = topic.partition("@")
        return SlotKeys(f"{self.namespace}:{name}_{slot}", group)

    def slot_keys(self, topic: str, slot: int) -> tuple[str, ...]:
        """The keys the scripts declare, in their order (`QUEUE_KEYS`), remembered: the hot paths ask for nothing else.

        A group (``<topic>@<group>``) has five more: what is open, the entries, their counters, the groups' positions,
        and its members.

        Where keys are spread, the store stands in the places of the hints.
        """
        known = self._slots.setdefault(topic, [])
        while len(known) <= slot:
            keys = self.slot(topic, len(known))
            named = dict.fromkeys(("heads", "due"), keys.store)
            if not self.spread:
                heads, due, _ = self.hints(topic)
                named = {"heads": heads, "due": due, "turns": self.turns(topic)}
            own = tuple(named.get(name) or getattr(keys, name) for name in QUEUE_KEYS)
            if keys.group:
                of_entries = SlotKeys(keys.entries)
                own += (keys.open, keys.entries, of_entries.stats, keys.positions, keys.members)
            known.append(own)
        return known[slot]

    def forget(self, topic: str) -> None:
        """Remembers nothing of a topic or group any more: groups of one process each come and go for ever."""
        self._slots.pop(topic, None)
        self.places.pop(topic, None)

    def hints(self, topic: str) -> tuple[str, str, str]:
        """What slots hand out next, when priority slots need a look; on Cluster, when that was seen."""
        tag = f"{{{self.namespace}:{topic}}}"
        return f"heads{tag}", f"due{tag}", f"noted{tag}"

    def turns(self, topic: str) -> str:
        """Sorted set: the turn that was taken last (``v``), and the next one of tenants who have used more."""
        return f"turns{{{self.namespace}:{topic}}}"

    def limits(self, topic: str) -> tuple[str, str]:
        """How much of its ``max_backlog`` each slot was given (a hash), and its rate (a string)."""
        return f"quotas{{{self.namespace}:{topic}}}", f"rate{{{self.namespace}:{topic}}}"

    def permits(self, topic: str) -> tuple[str, str]:
        """How many of each slot may be in flight (a hash), and who has some and who waits for some (a sorted set)."""
        return f"permits{{{self.namespace}:{topic}}}", f"permit-turns{{{self.namespace}:{topic}}}"

    def bands(self, topic: str) -> str:
        """String, which ends by itself: what a keeper saw of its priorities, and since when."""
        return f"bands{{{self.namespace}:{topic}}}"

    def owners(self, topic: str) -> tuple[str, str]:
        """Who owns which slot (a hash), and who did when (a stream)."""
        return f"owners{{{self.namespace}:{topic}}}", f"ownership{{{self.namespace}:{topic}}}"

    def journal_readers(self, topic: str) -> str:
        """How far each durable reader of a topic's journal has come, by slot (a hash)."""
        return f"journal-readers{{{self.namespace}:{topic}}}"

    def groups(self, topic: str) -> str:
        """Hash, of a stream topic: group → its definition."""
        return f"groups{{{self.namespace}:{topic}}}"

    def groups_end(self, topic: str) -> str:
        """String, which ends by itself: the life of a stream topic that gets no more groups, see `group_put.lua`."""
        return f"groups-end{{{self.namespace}:{topic}}}"

    @property
    def routes(self) -> tuple[str, str]:
        """Hashes: route → definition; and when a route of that name was deleted."""
        return f"routes{{{self.namespace}:topics}}", f"routes-deleted{{{self.namespace}:topics}}"

    @property
    def route_changes(self) -> str:
        """Channel: names of routes whose definition has changed."""
        return f"{self.namespace}:route-changes"

    def route_stats(self, name: str) -> str:
        """Hash: what the runners of a route count and say."""
        return f"route-{name}{{{self.namespace}:topics}}"

    def together(self, name: str) -> str:
        """Hash, which ends by itself: of a set of messages those that have not succeeded, and what follows."""
        return f"together{{{self.namespace}:{name}}}"

    def election(self, role: str) -> tuple[str, str]:
        """The lease of a role and the counter of its terms."""
        return f"lease{{{self.namespace}:{role}}}", f"terms{{{self.namespace}:{role}}}"

    def wake(self, topic: str) -> str:
        """The channel on which a slot number says: something of mine is due earlier than you think."""
        return f"{self.namespace}:wake:{topic}"
