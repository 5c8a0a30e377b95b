"""The messages of a part of an operation, as they are stored: JSON, `[[slot, id], …]`.

Where it is known in which span (ms, by the clock of their server) the copy that is meant died, or was taken out, a row
is `[slot, id, first, last]`; of what waits these are its place, twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from rmq_core.model.ids import MessageRef

Removed: TypeAlias = Mapping[MessageRef, tuple[int, int]]


def packed(refs: Iterable[MessageRef], removed: Removed) -> str:
    """For `OperationPart.refs`."""
    return json.dumps([[*ref, *removed.get(ref, ())] for ref in refs], separators=(",", ":"))


def unpacked(stored: str) -> tuple[list[MessageRef], Removed]:
    """Inverse of `packed`."""
    rows = json.loads(stored)
    refs = [MessageRef(slot, ident) for slot, ident, *_ in rows]
    return refs, {ref: (row[2], row[3]) for ref, row in zip(refs, rows, strict=True) if len(row) == 4}


def spans(refs: Iterable[MessageRef], removed: Removed) -> dict[tuple[int, int] | None, list[MessageRef]]:
    """The messages by the span in which they were taken out; None: not known."""
    found: dict[tuple[int, int] | None, list[MessageRef]] = {}
    for ref in refs:
        found.setdefault(removed.get(ref), []).append(ref)
    return found
