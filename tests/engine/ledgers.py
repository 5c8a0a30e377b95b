"""Reads every key of a namespace and says what is wrong with the ledger; knows the layout, trusts no script."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import msgpack

from rmq_core.model.scores import plain_of

ENDED = ("merged", "acked", "cancelled", "dropped", "lapsed", "duplicate", "outdated")
QUEUES = ("store", "retry", "prepare", "dead")
POOLS = ("body", "failed", "priority")
OWN_POOLS = ("replaced", "dead_record", "suspect")
NO_COUNTERS = (
    *(
        b"journal",
        b"shape",
        b"placed",
        b"stepped_back",
        b"extended_to",
        b"extensions",
        b"waits",
        b"waits_at",
        b"given",
        b"holds",
        b"fair",
        b"permits",
    ),
    *(b"receipts_from", b"told"),
)


@dataclass(frozen=True)
class SlotLedger:
    """What one slot really holds."""

    name: str
    queues: dict[str, dict[bytes, float]]
    pools: dict[str, dict[bytes, bytes]]
    stats: dict[str, int]
    trash: dict[bytes, int]
    journaled: int
    origins: int

    @property
    def clusters(self) -> dict[bytes, int]:
        """How many dead letters each cluster counts."""
        return {name: int(value.split(b" ")[0]) for name, value in self.pools["clusters"].items()}

    @property
    def held(self) -> set[bytes]:
        """Every id in any queue."""
        return {each for queue in self.queues.values() for each in queue}

    def problems(self) -> list[str]:
        """Broken invariants, in words; empty when all is well."""
        found = []
        ended = sum(self.stats.get(name, 0) for name in ENDED)
        holding = sum(len(queue) for queue in self.queues.values())
        came = self.stats.get("sent", 0) + self.stats.get("restored", 0)
        if came != ended + holding:
            found.append(f"sent or restored {came} != {ended} ended + {holding} held ({self.stats})")
        for pool in POOLS:
            orphans = set(self.pools[pool]) - self.held - {b""}
            if orphans:
                found.append(f"orphans in {pool}: {sorted(orphans)[:5]}")
        waiting = self.queues["store"].keys() | self.queues["retry"].keys()
        prepared, dead = self.queues["prepare"].keys(), self.queues["dead"].keys()
        if self.pools["replaced"].keys() - (waiting & prepared):
            found.append(f"bodies of nothing in flight: {sorted(self.pools['replaced'])[:5]}")
        if self.pools["dead_record"].keys() - dead:
            found.append(f"records of nothing dead: {sorted(self.pools['dead_record'])[:5]}")
        if self.pools["suspect"].keys() - waiting - prepared:
            found.append(f"suspects that are nowhere: {sorted(self.pools['suspect'])[:5]}")
        if self.origins and not prepared:
            found.append("places of deliveries, and nothing in flight")
        if set(self.pools["priority"]) == {b""}:
            found.append("the priority pool holds nothing but its own marker")
        for a, b in (("store", "retry"),):
            both = self.queues[a].keys() & self.queues[b].keys()
            if both:
                found.append(f"in {a} and in {b}: {sorted(both)[:5]}")
        if self.pools["cause"].keys() != self.queues["dead"].keys():
            found.append(f"dead are {sorted(self.queues['dead'])[:5]}, in clusters {sorted(self.pools['cause'])[:5]}")
        if self.clusters != Counter(self.pools["cause"].values()):
            found.append(f"clusters count {self.clusters}, but hold {Counter(self.pools['cause'].values())}")
        if self.trash.keys() != self.pools["trashed"].keys():
            found.append(f"the trash lists {sorted(self.trash)[:5]}, and holds {sorted(self.pools['trashed'])[:5]}")
        negative = [name for name, n in self.stats.items() if n < 0]
        if negative:
            found.append(f"counters below zero: {negative}")
        return [f"{self.name}: {each}" for each in found]


def slot_ledger(client: Any, namespace: str, topic: str, slot: int) -> SlotLedger:
    """Reads one slot."""
    name, at, group = topic.partition("@")
    store = f"{namespace}:{name}_{slot}"
    hashes = (*POOLS, *OWN_POOLS, "cause", "clusters", "trashed")
    keys = {name: f"{name}{at}{group}{{{store}}}" for name in (*QUEUES, "trash", *hashes, "stats", "origin")}
    keys |= {} if group else {"store": store}
    pipeline = client.pipeline(transaction=False)
    for name in (*QUEUES, "trash"):
        pipeline.zrange(keys[name], 0, -1, withscores=True)
    for name in (*hashes, "stats"):
        pipeline.hgetall(keys[name])
    pipeline.hlen(keys["origin"])
    replies = iter(pipeline.execute())
    queues = {name: {member: _exact(score) for member, score in next(replies)} for name in (*QUEUES, "trash")}
    trash = queues.pop("trash")
    pools = {name: dict(next(replies)) for name in hashes}
    stats = dict(next(replies))
    if stats.get(b"fair"):  # where tenants take turns, scores are in lanes
        queues["store"] = {member: _exact(plain_of(score)) for member, score in queues["store"].items()}
        pools["priority"] = {
            member: b"%r" % plain_of(float(raw)) for member, raw in pools["priority"].items() if member
        }
    for name in NO_COUNTERS:
        stats.pop(name, None)
    journaled = int(stats.pop(b"journaled", 0))
    counters = {name.decode(): int(n) for name, n in stats.items()}
    return SlotLedger(keys["store"], queues, pools, counters, trash, journaled, next(replies))


def _exact(score: float) -> float:
    return int(score) if score == int(score) else score


def all_books(client: Any, namespace: str) -> list[SlotLedger]:
    """Reads every slot of every topic that the namespace's registry knows."""
    stored = client.hgetall(f"{namespace}:topics")
    definitions = {name.decode(): json.loads(definition) for name, definition in stored.items()}
    topics = sorted((name, each["slots"]) for name, each in definitions.items() if each["kind"] != "stream")
    return [slot_ledger(client, namespace, name, slot) for name, slots in topics for slot in range(slots)]


def stream_problems(client: Any, namespace: str) -> list[str]:
    """The same of stream topics, whose slots hold nothing but a stream and their counters."""
    problems = []
    for name, definition in client.hgetall(f"{namespace}:topics").items():
        read = json.loads(definition)
        for slot in range(read["slots"]) if read["kind"] == "stream" else ():
            store = f"{namespace}:{name.decode()}_{slot}"
            stats = {each.decode(): n for each, n in client.hgetall(f"stats{{{store}}}").items()}
            sent, trimmed, deleted = (int(stats.get(each, 0)) for each in ("sent", "trimmed", "deleted"))
            length = client.xlen(store)
            if sent != length + trimmed + deleted:
                problems.append(f"{store}: sent {sent} != {length} kept + {trimmed} trimmed + {deleted} deleted")
            if "taken_back" in stats and length + trimmed + deleted:
                added = client.xinfo_stream(store).get("entries-added")
                if added not in (None, sent + int(stats["taken_back"])):  # None: of an old server
                    problems.append(f"{store}: {added} were added, {sent} sent, {stats['taken_back']} taken back")
            known = {"sent", "trimmed", "deleted", "taken_back", "journaled", "journal", "shape", "told"}
            if more := stats.keys() - known:
                problems.append(f"{store}: counts {more}")
            others = (*QUEUES[1:], *POOLS, *OWN_POOLS, "cause", "clusters", "trash", "trashed", "origin", "quota")
            problems += [f"{store}: {key}" for key in others if client.exists(f"{key}{{{store}}}")]
    return problems


def group_problems(client: Any, namespace: str) -> list[str]:
    """The same of consumer groups: their queues, and where they stand in the stream."""
    problems = []
    for name, definition in client.hgetall(f"{namespace}:topics").items():
        topic, slots = name.decode(), json.loads(definition)["slots"]
        groups = [raw.decode() for raw in client.hkeys(f"groups{{{namespace}:{topic}}}") if raw != b"@"]
        for group, slot in ((group, slot) for group in groups for slot in range(slots)):
            ledger = slot_ledger(client, namespace, f"{topic}@{group}", slot)
            problems += [*ledger.problems(), *_position_problems(client, f"{namespace}:{topic}_{slot}", group, ledger)]
    return problems


def _position_problems(client: Any, stream: str, group: str, ledger: SlotLedger) -> list[str]:
    found = []
    place = client.hget(f"positions{{{stream}}}", group).decode()
    cursor, number, furthest, first, first_number, _, _ = place.split(" ")
    sent = int(client.hget(f"stats{{{stream}}}", "sent") or 0)
    ahead = client.xrange(stream, f"({cursor}", "+")
    if sent - int(number) != len(ahead):
        found.append(f"{len(ahead)} are ahead of {place}, of {sent} sent")
    opened = dict(client.zrange(f"open@{group}{{{stream}}}", 0, -1, withscores=True))
    unfinished = ledger.queues["store"].keys() | ledger.queues["retry"].keys() | ledger.queues["prepare"].keys()
    if opened.keys() - unfinished or unfinished - opened.keys() - ledger.pools["body"].keys():
        found.append(f"open are {sorted(opened)[:5]}, unfinished {sorted(unfinished)[:5]}")
    behind = ((raw.decode(), int(at)) for raw, at in opened.items() if _parts(raw) <= _parts(cursor.encode()))
    expected = next(behind, (cursor, int(number) + 1))
    if (first, int(first_number)) != expected:
        found.append(f"first open is {expected}, the place says {place}")
    told = _told_cursor(client.xrange(f"journal@{group}{{{stream}}}"))
    if told not in (None, cursor):
        found.append(f"the journal says that it stands behind {told}, the place says {place}")
    if sorted(opened, key=_parts) != list(opened):
        found.append(f"not in the order of ids: {list(opened)[:5]}")
    if _parts(furthest.encode()) < _parts(cursor.encode()):
        found.append(f"the furthest is not: {place}")
    return [f"{ledger.name}: {each}" for each in found]


def _told_cursor(entries: list[tuple[bytes, dict[bytes, bytes]]]) -> str | None:
    """Where a group stands by its journal; None: that does not say it."""
    cursor = None
    for _, entry in entries:
        for event, route, items, *_ in msgpack.unpackb(entry[b"v"], raw=True, strict_map_key=False)[1:]:
            if event == b"moved" or (event, route) == (b"sent", b"ns"):
                cursor = items[-2].decode()
    return cursor


def _parts(raw: bytes) -> list[int]:
    return [int(part) for part in raw.split(b"-")]


def assert_ledger_balances(client: Any, namespace: str) -> None:
    """Fails naming every slot whose ledger does not balance or that holds an orphan."""
    problems = [each for ledger in all_books(client, namespace) for each in ledger.problems()]
    problems += stream_problems(client, namespace) + group_problems(client, namespace)
    assert not problems, "\n".join(problems)
