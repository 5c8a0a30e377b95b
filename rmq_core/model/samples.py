"""Frozen pictures of the counts of slots and topics, at one instant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rmq_core.model.holds import Hold, read_holds
from rmq_core.model.states import former_name
from rmq_core.model.stats import Counters, Histogram
from rmq_core.model.topic import Topic


@dataclass(frozen=True)
class SlotSample:
    """One slot at one instant. ``*_ms`` are epoch milliseconds; ``None``: nothing there.

    ``journaled``: entries ever written to its journal; ``journal_mark``: how it journals (`ops.journal_marks`).
    ``held``: of ``retry``, what holds keep back; ``hold_mark``: those holds, as `model.holds` reads them.
    ``in_order``: keys of which versions wait for one before them; ``waits_since_ms``: since when the first of them has
    not moved. ``skipped``: versions that their order went on without.
    ``keys_waiting``: slot bases of which some wait, for as many are in flight as may be.
    ``owed``: messages that died, whose follow-ups have still to be sent (`ops.chains`).
    ``length``, ``first_entry``, ``last_entry``: of a stream topic, whose slots have nothing else but counters.
    ``lag``: of a group, the entries ahead of it; None: not known. ``missed``: trimmed or deleted before it had read
    them. ``behind``: the entry that it read last. ``oldest_due_ms``: when what it hands out next was accepted.
    ``waits_given_ms``: when something was last given a back-off or a delay; ``walked``: all that waits is being walked
    through, for the clock has stepped back.
    ``tenants``: whether messages have named any. ``fair_mark``: whether they take turns (`ops.fair_marks`).
    """

    slot: int
    at_ms: int
    store: int
    ready: int
    retry: int
    prepare: int
    dead: int
    bodies: int
    failures_recorded: int
    oldest_due_ms: int | None
    next_due_ms: int | None
    next_retry_ms: int | None
    oldest_taken_ms: int | None
    epoch: str | None
    signature: bytes
    counters: Counters
    lateness: Histogram
    trash: int = 0
    oldest_trash_ms: int | None = None
    journaled: int = 0
    journal_mark: bytes | None = None
    owed: int = 0
    length: int = 0
    first_entry: str | None = None
    last_entry: str | None = None
    lag: int | None = 0
    missed: int = 0
    behind: str | None = None
    tenants: bool = False
    fair_mark: bytes | None = None
    held: int = 0
    hold_mark: bytes | None = None
    in_order: int = 0
    waits_since_ms: int | None = None
    skipped: int = 0
    keys_waiting: int = 0
    waits_given_ms: int = 0
    walked: bool = False

    @property
    def backlog(self) -> int:
        """Waiting in any way: store and retry."""
        return self.store + self.retry

    @property
    def delayed(self) -> int:
        """In the store, not due yet."""
        return self.store - self.ready

    @property
    def retrying(self) -> int:
        """Failed, and waits for its next try."""
        return self.retry - self.held

    @property
    def holds(self) -> tuple[Hold, ...]:
        """The holds of the slot, without how much each keeps back."""
        return read_holds(self.slot, self.hold_mark) if self.hold_mark else ()

    @property
    def hold_ends_ms(self) -> int | None:
        """When the first hold of the slot ends; None: none does by itself."""
        return min((hold.until_ms for hold in self.holds if hold.until_ms is not None), default=None)

    @property
    def holds_until_ms(self) -> int | None:
        """When time alone makes this picture untrue; None: never."""
        return self.next_due_ms

    def lag_ms(self, now_ms: int) -> int:
        """How long the oldest due message has been waiting; 0 when none is due."""
        return 0 if self.oldest_due_ms is None else max(0, now_ms - self.oldest_due_ms)

    def numbers(self, now_ms: int) -> dict[str, int]:
        """What it holds, as commands, pages and the API name it. ``backlog`` is ready, delayed, retrying, held."""
        return {
            "backlog": self.backlog,
            "ready": self.ready,
            "delayed": self.delayed,
            "retrying": self.retrying,
            "held": self.held,
            "in_flight": self.prepare,
            "dead": self.dead,
            "lag_ms": self.lag_ms(now_ms),
            "ledger_gap": self.ledger_gap,
        }

    @property
    def ledger_gap(self) -> int:
        """sent + restored − (merged + duplicate + outdated + acked + cancelled + dropped + lapsed + held): 0 if none is
        lost.

        Of a stream topic: sent − (trimmed + deleted + length).
        """
        counters = self.counters
        ended = counters.merged + counters.acked + counters.cancelled + counters.dropped + counters.lapsed
        ended += counters.duplicate + counters.outdated + counters.trimmed + counters.deleted
        held = self.store + self.retry + self.prepare + self.dead + self.length
        return counters.sent + counters.restored - ended - held


@dataclass(frozen=True)
class TopicSample:
    """All slots of a topic; sums are computed once, when first asked for. ``at_ms``: the Redis clock."""

    topic: Topic
    at_ms: int
    slots: tuple[SlotSample, ...]

    @cached_property
    def backlog(self) -> int:
        """Messages waiting, in store or retry."""
        return sum(slot.store + slot.retry for slot in self.slots)

    @property
    def tenants(self) -> bool:
        """Whether messages have named tenants."""
        return any(slot.tenants for slot in self.slots)

    @cached_property
    def lag(self) -> int | None:
        """Of a group: entries ahead of it; None: not known in some slot."""
        lags = [slot.lag for slot in self.slots]
        return None if None in lags else sum(lag or 0 for lag in lags)

    @cached_property
    def missed(self) -> int:
        """Of a group: entries that were trimmed or deleted before it had read them."""
        return sum(slot.missed for slot in self.slots)

    @cached_property
    def length(self) -> int:
        """Entries of a stream topic."""
        return sum(slot.length for slot in self.slots)

    @cached_property
    def ready(self) -> int:
        """Messages that could be taken now."""
        return sum(slot.ready for slot in self.slots)

    @cached_property
    def retrying(self) -> int:
        """Messages that failed and wait for their next try."""
        return sum(slot.retrying for slot in self.slots)

    @cached_property
    def held(self) -> int:
        """Messages that holds keep back."""
        return sum(slot.held for slot in self.slots)

    @cached_property
    def in_order(self) -> int:
        """Keys of which versions wait for one before them."""
        return sum(slot.in_order for slot in self.slots)

    @cached_property
    def keys_waiting(self) -> int:
        """Slot bases of which some wait, for as many are in flight as may be."""
        return sum(slot.keys_waiting for slot in self.slots)

    @cached_property
    def skipped(self) -> int:
        """Versions that their order went on without."""
        return sum(slot.skipped for slot in self.slots)

    @cached_property
    def waits_since_ms(self) -> int | None:
        """Since when the order of such a key has not moved."""
        return min((slot.waits_since_ms for slot in self.slots if slot.waits_since_ms is not None), default=None)

    @property
    def order_waits_ms(self) -> int:
        """How long the order of such a key has not moved; 0: none waits."""
        return 0 if self.waits_since_ms is None else max(0, self.at_ms - self.waits_since_ms)

    @property
    def waiting(self) -> int:
        """The former name of `retrying`, until release 0.3."""
        former_name("waiting of a sample", "retrying", 2)
        return self.retrying

    @cached_property
    def prepare(self) -> int:
        """Messages in flight."""
        return sum(slot.prepare for slot in self.slots)

    @cached_property
    def dead(self) -> int:
        """Dead letters."""
        return sum(slot.dead for slot in self.slots)

    @cached_property
    def trash(self) -> int:
        """Cancelled and dropped messages that can be restored."""
        return sum(slot.trash for slot in self.slots)

    @cached_property
    def oldest_due_ms(self) -> int | None:
        """When the message that has waited longest was due."""
        return min((slot.oldest_due_ms for slot in self.slots if slot.oldest_due_ms is not None), default=None)

    @cached_property
    def oldest_taken_ms(self) -> int | None:
        """When what has been in flight for longest was taken."""
        return min((slot.oldest_taken_ms for slot in self.slots if slot.oldest_taken_ms is not None), default=None)

    @cached_property
    def with_deadlines(self) -> tuple[SlotSample, ...]:
        """The slots where time alone will end something: a delivery, a wait for the next try, a hold, the keeping of
        trash."""
        return tuple(
            slot
            for slot in self.slots
            if slot.oldest_taken_ms is not None
            or slot.next_retry_ms is not None
            or slot.oldest_trash_ms is not None
            or slot.hold_mark is not None
        )

    @cached_property
    def owing(self) -> tuple[SlotSample, ...]:
        """The slots that owe what follows their dead."""
        return tuple(slot for slot in self.slots if slot.owed)

    @cached_property
    def journal_marks(self) -> frozenset[bytes | None]:
        """How its slots journal; of most topics one mark."""
        return frozenset(slot.journal_mark for slot in self.slots)

    @cached_property
    def fair_marks(self) -> frozenset[bytes | None]:
        """Whether tenants take turns in its slots; of most topics one mark."""
        return frozenset(slot.fair_mark for slot in self.slots)

    @property
    def lag_ms(self) -> int:
        """How long the oldest due message has been waiting."""
        return 0 if self.oldest_due_ms is None else max(0, self.at_ms - self.oldest_due_ms)

    @property
    def oldest_prepare_ms(self) -> int | None:
        """How long the oldest delivery has been in flight; None when none is."""
        return None if self.oldest_taken_ms is None else max(0, self.at_ms - self.oldest_taken_ms)

    @cached_property
    def counters(self) -> Counters:
        """Sums of the counters."""
        return Counters.sum([slot.counters for slot in self.slots])

    @cached_property
    def lateness(self) -> Histogram:
        """Delivered − due, since the topic exists."""
        return Histogram.sum(slot.lateness for slot in self.slots)

    def numbers(self) -> dict[str, int]:
        """What it holds, as `SlotSample.numbers` says it of a slot."""
        return {
            "backlog": self.backlog,
            "ready": self.ready,
            "delayed": self.backlog - self.retrying - self.held - self.ready,
            "retrying": self.retrying,
            "held": self.held,
            "in_flight": self.prepare,
            "dead": self.dead,
            "lag_ms": self.lag_ms,
            "ledger_gap": self.ledger_gap,
        }

    @cached_property
    def ledger_gap(self) -> int:
        """Sum of the slots' gaps, each counted by its size."""
        return sum(abs(slot.ledger_gap) for slot in self.slots)
