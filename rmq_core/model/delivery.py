"""Deliveries as listeners get them."""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

from rmq_core.errors import InvalidMessage
from rmq_core.model.bodies import Body, basis_of, decode_body
from rmq_core.model.ids import MessageRef, id_to_text
from rmq_core.model.json_text import Json
from rmq_core.model.report import Note, Reporter, line_bytes, progress_bytes
from rmq_core.model.scores import (
    due_of,
    failures_of,
    is_retried,
    priority_of,
    read_stamp,
)


class Delivery:
    """A message handed to a listener, with the receipt that settles it. Read-only for applications.

    ``epoch``: under which its worker owns the slot, as text that sorts by age ('' in shared mode). A store that is
    written by listeners can refuse whatever comes with an older one.
    """

    __slots__ = (
        *("_body", "_decoded", "_max_retries", "_timed", "epoch", "raw_id", "receipt", "reporter", "score"),
        *("slot", "topic"),
    )

    def __init__(
        self,
        topic: str,
        slot: int,
        raw_id: bytes,
        receipt: int,
        score: float,
        body: Any,
        timed: bool,
        max_retries: int,
        epoch: str = "",
    ) -> None:
        self.topic = topic
        self.slot = slot
        self.raw_id = raw_id
        self.receipt = receipt
        self.score = score
        self._body = body
        self._timed = timed
        self._max_retries = max_retries
        self.epoch = epoch
        self._decoded: Body | None = None
        self.reporter: Reporter | None = None
        """Who is told what it says of itself; None: nobody, as of one that a client took."""

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """For another process, where somebody else is told."""
        names = [name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ()) if hasattr(self, name)]
        return None, {name: getattr(self, name) for name in names} | {"reporter": None}

    def _decode(self) -> Body:
        if self._decoded is None:
            self._decoded = Body(self.raw_id, {}, 0) if self._body is None else decode_body(self._body)
        return self._decoded

    @property
    def id(self) -> str:
        """The id in its text form."""
        return id_to_text(self.raw_id)

    @property
    def raw_body(self) -> Any:
        """What the server holds beside the id, as it stands there; None: nothing."""
        return self._body

    def set_body(self, body: bytes | None) -> None:
        """Of one that was made again from its receipt: what the server holds."""
        self._body, self._decoded = body, None

    @property
    def content(self) -> bytes:
        """The content as sent, as bytes."""
        return self.raw_id if self._body is None else self._decode().content

    @property
    def text(self) -> str:
        """The content as text; raises UnicodeDecodeError when it is not UTF-8."""
        return self.content.decode()

    def json(self) -> Any:
        """The content parsed as JSON; raises ValueError when it is none."""
        return json.loads(self.content)

    @property
    def headers(self) -> dict[str, str]:
        """The headers as sent."""
        return self._decode().headers

    @property
    def version(self) -> int:
        """The message version as sent."""
        return self._decode().version

    @property
    def expires_at_ms(self) -> int | None:
        """From then on it is not delivered, not even for a retry; None: always."""
        return self._decode().expires_at_ms

    @property
    def tenant(self) -> str:
        """Whose it is; "": nobody's."""
        return self._decode().tenant

    @property
    def slot_basis(self) -> bytes:
        """What its slot was chosen by: what the sender gave, else the key or the content."""
        return basis_of(self.raw_id, self._decode())

    @property
    def attempt(self) -> int:
        """1 for the first delivery, 2 for the first retry, …

        Told from the tries left: of one that was ready again when ``max_retries`` was edited, another number.
        """
        return failures_of(self.score, self._max_retries) + 1

    @property
    def last_attempt(self) -> bool:
        """Whether it becomes a dead letter if it fails once more."""
        return self.attempt > self._max_retries

    @property
    def due_ms(self) -> int | None:
        """When it was due (timed topics, first attempt), else None."""
        return due_of(self.score) if self._timed and not is_retried(self.score) else None

    @property
    def group(self) -> str | None:
        """The consumer group that it was taken by (stream topics), else None."""
        return self.topic.partition("@")[2] or None

    @property
    def priority(self) -> int | None:
        """Its priority (priority topics, first attempt), else None."""
        return priority_of(self.score) if not self._timed and not is_retried(self.score) else None

    @property
    def taken_by(self) -> str:
        """Of an entry that a named member of a group took: '<host> <member>'; else ''."""
        return ""

    @property
    def taken_ms(self) -> int:
        """When it was taken, or last extended, by the Redis clock."""
        return read_stamp(self.receipt).at_ms

    def progress(self, value: Json) -> None:
        """Tells how far its listener is: anything small that JSON can hold, readable by its id for a day.

        A number from 0 to 1, or ``{"done": 3, "of": 10}``, is shown as a bar. Raises `InvalidMessage`.
        """
        self._told().note(Note(self, progress=progress_bytes(value)))

    def log(self, text: object) -> None:
        """Adds a line to what is readable by its id for a day: the last 100, of at most 500 characters."""
        self._told().note(Note(self, lines=(line_bytes(text),)))

    def _told(self) -> Reporter:
        if self.reporter is None:
            raise InvalidMessage("a delivery that a client took tells of itself by client.note(delivery, …)")
        return self.reporter

    @property
    def ref(self) -> MessageRef:
        """Its full address."""
        return MessageRef(self.slot, self.id)

    def __repr__(self) -> str:
        return f"<Delivery {self.topic}[{self.slot}] {self.id} attempt {self.attempt}>"


SettleStatus: TypeAlias = Literal["done", "stale"]
