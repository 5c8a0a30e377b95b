"""What tells the data of a namespace from that of any other: made once, and kept beside it."""

from __future__ import annotations

from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation


def read(keyspace: Keyspace) -> Operation[bytes | None]:
    """None where nobody has made it yet."""
    (kept,) = yield [("GET", keyspace.data_set)]
    return kept  # type: ignore[no-any-return]


def keep(keyspace: Keyspace, text: str) -> Operation[bytes]:
    """Makes it, unless somebody was first; returns what it is."""
    _, kept = yield [("SET", keyspace.data_set, text, "NX"), ("GET", keyspace.data_set)]
    return kept  # type: ignore[no-any-return]
