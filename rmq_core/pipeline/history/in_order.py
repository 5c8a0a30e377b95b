"""Messages that are plainly in order: where they must be, as they must be, and not overdue.

Nearly all messages of a large queue are, and to hand each of them to Spark costs more than to judge it. So they are
left out where they are judged. What is not plainly in order may be in order all the same: that `verdicts.suspicious`
says, and it would say nothing of any that is left out here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rmq_core.model.scores import LANE, RETRIED_MAX, SHIFT
from rmq_core.pipeline.schemas import INLINE

_NONE = -1
"""The life of a slot whose journal is not whole."""


@dataclass(frozen=True)
class Slots:
    """What messages are judged by. ``lives``: the present one of each slot whose journal is whole, by topic and slot;
    ``due_within_ms``: by topic, when what is due is overdue (None: never, it is paused); ``timed``, ``ranked``: topics
    whose scores are times, or priorities."""

    lives: Mapping[tuple[str, int], int]
    due_within_ms: Mapping[str, int | None]
    timed: frozenset[str]
    ranked: frozenset[str]


def in_order(columns: Mapping[str, Any], slots: Slots) -> Any:
    """Per message, whether nothing is to be said of it. ``columns``: those of `schemas.HISTORIES`, as Arrow has them.

    Only of what waits, or is dead, and nothing else; what is in flight is little.
    """
    import numpy as np

    seen = _Seen(columns)
    present, timed, ranked, due_within_ms = _of_slots(columns, slots)
    in_store, in_retry, in_dead = (seen.has(f"in_{queue}") for queue in ("store", "retry", "dead"))
    store, retry = seen["in_store"], seen["in_retry"]
    due = np.where(in_retry, np.floor(retry / SHIFT), store)
    has_due = in_retry | (in_store & timed & (store > RETRIED_MAX))
    overdue = has_due & (due + due_within_ms < seen["read_ms"])
    somewhere = (in_store | in_retry | in_dead) & ~seen.has("in_prepare")

    is_queue = {queue: seen.is_in("queue", queue) for queue in "sr"}
    place = np.where(seen.has("exact_store"), seen["exact_store"], store)
    own_place = np.where(seen.has("waiting_exact"), seen["waiting_exact"], seen["waiting_score"])
    # In the lane of a tenant it has another score.
    same_place = (place == own_place) | (ranked & (place >= LANE))
    stored = in_store & ~in_retry & is_queue["s"] & (store == seen["waiting_score"]) & same_place
    retried = in_retry & ~in_store & is_queue["r"] & (retry == seen["waiting_score"])
    has_body = seen["has_body"]
    pooled = np.where(has_body, seen["body_hash"], INLINE)

    def alone(copy: str) -> Any:
        found = seen[copy] == 1
        for other in ("waiting", "in_flight", "dead"):
            found &= (other == copy) | (seen[other] == 0)
        return found & seen.has(f"{copy}_score")

    told = ~seen.has("waiting_failed_at") | seen["has_failed"]
    content = ~seen.has("waiting_content") | (seen["waiting_content"] == pooled)
    content &= ~seen["waiting_stored"] | has_body
    waits = alone("waiting") & (stored | retried) & ~in_dead & told & content

    of_dead = np.where(seen.has("dead_hash"), seen["dead_hash"], pooled)
    content = ~seen.has("dead_content") | (seen["dead_content"] == of_dead)
    content &= ~seen["dead_stored"] | has_body | (of_dead != INLINE)
    content &= ~seen.has("dead_failed_at") | seen.has("dead_hash") | seen["has_failed"]
    died = alone("dead") & in_dead & ~in_store & ~in_retry & (seen["in_dead"] == seen["dead_score"]) & content

    as_told = seen.has("life") & (seen["life"] == present) & (waits | died)
    well = somewhere & ~overdue & ~seen.has("wrong") & ~seen["unsure"] & ((present == _NONE) | as_told)
    return np.asarray(well)


class _Seen:
    """Columns as numpy has them; where nothing is said, 0."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.columns = columns

    def __getitem__(self, name: str) -> Any:
        column = self.columns[name]
        whole = column.fill_null(False if str(column.type) == "bool" else 0) if column.null_count else column
        return whole.to_numpy(zero_copy_only=False)

    def has(self, name: str) -> Any:
        """Where something is said."""
        return self.columns[name].is_valid().to_numpy(zero_copy_only=False)

    def is_in(self, name: str, value: str) -> Any:
        """Where it is that."""
        import pyarrow.compute as pc

        return pc.equal(self.columns[name], value).fill_null(False).to_numpy(zero_copy_only=False)


def _of_slots(columns: Mapping[str, Any], slots: Slots) -> tuple[Any, Any, Any, Any]:
    """Per message the present life of its slot (`_NONE`: its journal is not whole), whether its scores are times, or
    priorities, and when what is due is overdue (ms)."""
    import numpy as np

    topics = columns["topic"].dictionary_encode()
    names, codes = topics.dictionary.to_pylist(), topics.indices.to_numpy().astype(np.int64)
    keys, which = np.unique((codes << 32) + columns["slot"].to_numpy(), return_inverse=True)
    lives = [slots.lives.get((names[key >> 32], key & 0xFFFFFFFF), _NONE) for key in keys.tolist()]
    # Of a topic that was defined just now nothing is known, and nothing said.
    within = [np.inf if (ms := slots.due_within_ms.get(name)) is None else ms for name in names]
    kinds = (np.array([name in several for name in names])[codes] for several in (slots.timed, slots.ranked))
    return np.array(lives)[which], *kinds, np.array(within, dtype=float)[codes]
