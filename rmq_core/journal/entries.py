"""What an entry of a slot's journal says: the codec.

An entry is what one script call changed. Its stream fields are ``n``, the slot's running number (1, 2, 3, …, never
reused), and ``v``, msgpack of ``[now_ms, group, group, …]``. A group is ``[event, route, [id, detail, id, detail …]]``,
and in mode ``full``, for events that say what the content is, a fourth element: ``[body, …]``, one per id. Else that is
``false`` where a fifth tells of bodies that bear a slot basis: ``[place (1-based), basis, …]``, and a sixth how many
have a body.

A third field ``w``, '<host> <worker>', names the worker that made the change, where one did; the ``worker`` in a detail
is then empty, and else who reported that failure by hand.

``route`` is two letters, from and to: ``n`` a send, ``s`` store, ``r`` retry, ``p`` prepare, ``d`` dead, ``t`` trash,
``-`` nowhere. ``detail`` is the score in the queue it came to, with its place there (for ``acked`` the receipt, 0 where
there is none); for ``retried`` and ``died``, and ``restored`` of what had failed and was put back, a list: score,
failures, fingerprint, error, message (its first 200 bytes), worker, the texts as JSON escapes them. ``body`` is what
the body pool holds from then on, ``""`` for none (the content is the id), ``false`` where it stays as it was; of a
stream topic it is the entry (`model.entry_form.from_body`).

Groups are in the order in which things happened to an id; ids of one group are independent of each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from rmq_core.errors import InvalidMessage
from rmq_core.journal.opening import PLACES, bodies_of, clamped, failures_of, opened, pairs_of
from rmq_core.model.bodies import decode_body
from rmq_core.model.entry_form import BASIS, from_body
from rmq_core.model.holds import HELD_FROM
from rmq_core.model.scores import RETRIED_MAX, SHIFT, due_of, exact, priority_of
from rmq_core.model.scores import failures_of as retried
from rmq_core.model.topic import Topic

EVENTS = (
    *("sent", "merged", "taken", "acked", "retried", "expired", "died", "cancelled", "rescheduled", "requeued"),
    *("dropped", "released", "restored", "promoted", "extended", "erased", "began", "ended", "trimmed", "deleted"),
    *("moved", "lapsed", "duplicate", "outdated", "held", "lifted"),
)
"""``expired``, and ``released`` where it merges, is followed by what became of the message; until then it is in flight.
``released`` behind ``expired``: it was in flight with others when their process died, and counts as nobody's failure.
``merged``: into an equal id that waits (or is dead). ``promoted``: its back-off is over. ``erased``: cannot be restored
any more. ``restored`` from ``gone``: it had been lost, so no queue held it, whatever was written before. ``began``,
``ended``: of the journal. ``trimmed``, ``deleted``: of a stream topic, which has but ``sent`` beside them; the first
concerns all entries before the one it names ('' for all), and its score is their number. ``moved``: where a group
stands, behind the entry it names; its score is how many are ahead. Told when the journal begins, at another position,
and where it read what is still under way. ``lapsed``: it waited, and may not be delivered any more (its
``expires_ms``); ``expired`` is the older word for a delivery that timed out. ``duplicate``:
its id had been accepted within its period (``unique_for_ms``), so it was not. ``outdated``: a newer version had been
handed out (``versions_for_ms``), so it was not accepted, or not delivered. ``held``: a hold keeps it back, in retry;
``lifted``: that is over."""

MARKS = frozenset({"began", "ended", "trimmed", "moved"})
"""Events that concern no message, or an unknown number of them."""


class Transition(NamedTuple):
    """One change of one message. ``None``: there is none, or it is not known.

    ``n``, ``seq``: the entry's running number in its slot, and the place in the entry; together they are the slot's
    order. ``at_ms``: the server's clock. ``origin``, ``target``: where it came from and went (`PLACES`). ``score``: in
    the target queue, for ``began`` the messages that the slot held. ``due_ms``, ``priority``: where it waits now.
    ``failures``: of a message that failed and waits or died. ``body``: as in the body pool (`bodies.decode_body`);
    ``b""``: none, the content is the id; ``None``: unchanged, or not journaled. ``basis``: the slot basis in that body.
    ``host``, ``worker``: who made the change; of a failure that was reported by hand, who said so.
    """

    topic: str
    slot: int
    entry_id: str
    n: int
    seq: int
    at_ms: int
    event: str
    id: bytes
    origin: str
    target: str
    score: float | None
    receipt: int | None
    due_ms: int | None
    priority: int | None
    failures: int | None
    error: str | None
    message: str | None
    fingerprint: str | None
    worker: str | None
    body: bytes | None
    host: str | None = None
    basis: bytes | None = None


def decode(topic: Topic, slot: int, entry_id: bytes | str, fields: Any) -> list[Transition]:
    """The transitions of one entry; none of one that the engine has not written. ``fields``: as the server replies them
    (a flat list) or a mapping."""
    return list(_transitions(topic, slot, _text(entry_id), pairs_of(fields)))


def _transitions(topic: Topic, slot: int, entry_id: str, fields: dict[bytes, bytes]) -> Iterator[Transition]:
    found = opened(topic.name, slot, fields)
    if found is None:
        return
    n, (at_ms, *groups) = found
    name, timed = topic.name, topic.timed
    host, _, by = fields.get(b"w", b"").decode(errors="replace").partition(" ")
    seq = 0
    for event_raw, route, items, *more in groups:
        event, origin, target = event_raw.decode(), PLACES[chr(route[0])], PLACES[chr(route[1])]
        bodies = bodies_of(more[0]) if more else None
        bases = dict(zip(more[1][::2], more[1][1::2], strict=True)) if len(more) > 1 else {}
        for i in range(0, len(items), 2):
            detail = items[i + 1]
            failures: int | None = None
            error = message = fingerprint = None
            worker: str | None = by or None
            if type(detail) is list:
                detail, failed, *texts = detail
                failures = failures_of(failed)
                fingerprint, error, message, own_worker = map(_unescaped, texts)
                worker = own_worker or worker
            value = clamped(detail if type(detail) is int else exact(detail or 0))
            score = receipt = due_ms = priority = None
            if topic.is_stream or event == "moved":
                score = value if event in MARKS else None
            elif target == "store":
                if value or event != "merged":
                    score = value
                    if value <= RETRIED_MAX:
                        failures = retried(value, topic.max_retries) if failures is None else failures
                    elif timed:
                        due_ms = due_of(value)
                    else:
                        priority = priority_of(value)
            elif target == "prepare":
                score = receipt = int(value)
                failures = receipt % SHIFT
            elif target == "retry":
                score = value
                due_ms, failures = divmod(int(value), SHIFT)
                due_ms = None if value >= HELD_FROM else due_ms
            elif target != "gone":
                score = value
            elif event == "acked":
                receipt = int(value)
            elif event == "began":
                score = value
            body = bodies.get(i // 2 + 1) if bodies else None
            yield Transition(
                name, slot, entry_id, n, seq, at_ms, event, items[i], origin, target, score, receipt, due_ms, priority,
                failures, error, message, fingerprint, worker, body,
                host or None, _basis(topic, body) if body else bases.get(i // 2 + 1),
            )  # fmt: skip
            seq += 1


def _basis(topic: Topic, body: bytes) -> bytes | None:
    """What a body says; nothing where it cannot be read, for somebody else wrote it."""
    try:
        if topic.is_stream:
            pairs = from_body(body)
            return dict(zip(pairs[::2], pairs[1::2], strict=True)).get(BASIS)
        return decode_body(body).basis
    except (InvalidMessage, ValueError, RecursionError):
        return None


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _unescaped(raw: bytes) -> str:
    """A piece of a JSON string; what was cut off in the middle of an escape loses that."""
    text = raw.decode(errors="replace")
    for cut in range(12):  # a pair of surrogates is the longest
        try:
            value: str = json.loads(f'"{text[: len(text) - cut]}"')
        except ValueError:
            continue
        return value.encode(errors="replace").decode()
    return text
