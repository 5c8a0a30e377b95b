"""Transitions made by hand, for what is about the record alone."""

from __future__ import annotations

from dataclasses import dataclass

ROUTES = {
    "sent": ("new", "store"),
    "merged": ("new", "gone"),
    "taken": ("store", "prepare"),
    "acked": ("prepare", "gone"),
    "retried": ("prepare", "retry"),
    "released": ("prepare", "store"),
    "expired": ("", ""),
    "died": ("prepare", "dead"),
    "cancelled": ("store", "trash"),
    "lapsed": ("store", "gone"),
    "duplicate": ("new", "gone"),
    "outdated": ("store", "gone"),
    "dropped": ("dead", "trash"),
    "requeued": ("dead", "store"),
    "restored": ("trash", "store"),
}


@dataclass(frozen=True)
class Made:
    """As the journal's reader hands them out."""

    event: str
    at_ms: int
    id: bytes = b"a"
    topic: str = "orders"
    slot: int = 0
    n: int = 0
    seq: int = 0
    receipt: int | None = None
    due_ms: int | None = None
    priority: int | None = None
    failures: int | None = None
    error: str | None = None
    worker: str | None = None
    body: bytes | None = None
    route: tuple[str, str] | None = None

    @property
    def origin(self) -> str:
        return (self.route or ROUTES[self.event])[0]

    @property
    def target(self) -> str:
        return (self.route or ROUTES[self.event])[1]

    @property
    def entry_id(self) -> str:
        return f"{self.at_ms}-{self.n}"


def life(ident: str, slot: int = 0, start_ms: int = 1_000) -> list[Made]:
    """Sent, taken, failed, waited, taken again, done: six steps."""
    raw = ident.encode()
    return [
        Made("sent", start_ms, raw, slot=slot, due_ms=start_ms + 10),
        Made("taken", start_ms + 20, raw, slot=slot, receipt=(start_ms + 20) * 1000, worker="host/1"),
        Made("retried", start_ms + 30, raw, slot=slot, failures=1, error="KeyError", due_ms=start_ms + 100),
        Made("promoted", start_ms + 110, raw, slot=slot, due_ms=start_ms + 100, route=("retry", "store")),
        Made("taken", start_ms + 110, raw, slot=slot, seq=1, receipt=(start_ms + 110) * 1000 + 1),
        Made("acked", start_ms + 120, raw, slot=slot),
    ]
