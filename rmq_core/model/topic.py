"""What a topic is: a validated, frozen definition."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any, ClassVar

from rmq_core.errors import InvalidTopic
from rmq_core.figures import digits
from rmq_core.model.tenants import check_limits, check_tenant_from, check_weights
from rmq_core.model.text import NotText, check_text, shown

MAX_SLOTS = 4096
MAX_RETRIES = 16
MAX_BACKLOG = 10**12
MAX_RATE = 1_000_000
MAX_CONCURRENCY = 1_000_000
MAX_KEY_CONCURRENCY = 1_000
UNDO_MS = 86_400_000
MAX_RESULT_MS = 30 * 86_400_000
MAX_JOURNAL = 10**9
MAX_UNDO_MS = 30 * UNDO_MS
MAX_EXPIRES_MS = 10 * 366 * 86_400_000
MAX_UNIQUE_MS = 366 * 86_400_000
MAX_VERSIONS_MS = 366 * 86_400_000
MAX_ARCHIVE_MS = 36_525 * 86_400_000
MAX_SKIP_MS = 366 * 86_400_000
MAX_LENGTH = 10**12
MAX_AGE_MS = 100 * 366 * 86_400_000
MAX_OBJECTIVE_MS = 7 * UNDO_MS
MAX_DESCRIPTION = 2_000
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,99}")


class TopicKind(StrEnum):
    """When a message is delivered, and what a duplicate does to one that waits; a stream keeps them all."""

    RANGE_MERGE = "range-merge"
    PRIORITY = "priority"
    FIXED_TIME = "fixed-time"
    STREAM = "stream"


QUEUE_KINDS = (TopicKind.RANGE_MERGE, TopicKind.PRIORITY, TopicKind.FIXED_TIME)
"""Those whose messages are taken and settled."""


class Trim(StrEnum):
    """How closely a stream keeps to its bounds when something is sent."""

    NEARLY = "nearly"
    EXACT = "exact"


class Merge(StrEnum):
    """Which content survives when a duplicate merges. Never: nothing merges, each send is a message of its own."""

    LATEST = "latest"
    FIRST = "first"
    NEVER = "never"


class OnFailure(StrEnum):
    """Whether the next message of a slot basis waits for one that failed, until that is done or dead."""

    CONTINUE = "continue"
    WAIT = "wait"


class Journal(StrEnum):
    """What is recorded of each change: nothing, the change, or also the contents that were sent."""

    OFF = "off"
    EVENTS = "events"
    FULL = "full"


_KEEPS = "only a stream keeps what was read, and has to be trimmed"
ONLY_OF_STREAMS: dict[str, tuple[object, str]] = {
    "max_length": (0, _KEEPS),
    "max_age_ms": (0, _KEEPS),
    "trim": (Trim.NEARLY, _KEEPS),
    "trim_unread": (False, _KEEPS),
}
"""Field → its value on topics of other kinds, and why."""

NOT_OF_STREAMS: dict[str, tuple[object, str]] = {
    "merge": (Merge.LATEST, "a stream merges nothing, every message is an entry of its own"),
    "max_backlog": (0, "nothing waits in a stream to be taken; bound it by max_length and max_age_ms"),
    "rate_limit": (0, "nothing is taken from a stream itself; limit its groups"),
    "concurrency": (0, "nothing is taken from a stream itself"),
    "key_concurrency": (0, "nothing is taken from a stream itself"),
    "expires_ms": (0, "entries are kept until they are trimmed; bound them by max_length and max_age_ms"),
    "unique_for_ms": (0, "a stream merges nothing, every message is an entry of its own"),
    "tenant_from": ("", "load is counted by tenant where messages wait to be taken"),
    "fair": (False, "nothing is taken from a stream itself"),
    "tenant_weights": ("", "nothing is taken from a stream itself"),
    "tenant_limits": ("", "nothing is taken from a stream itself"),
    "versions_for_ms": (0, "an entry has no version"),
    "in_order": (False, "entries are in order, and have no version"),
    "on_failure": (OnFailure.CONTINUE, "nothing is handled in a stream itself; a group has waits=True"),
    "paused": (False, "nothing is taken from a stream itself; pause its groups"),
    "lateness_objective_ms": (0, "nothing falls due in a stream"),
    "result_for_ms": (0, "nothing is handled in a stream itself; an entry asks for it by its header"),
}
"""Field → its value on streams, and why."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic definition. Raises `InvalidTopic`.

    ``name``, ``kind`` and ``slots`` never change; every other field may, at run time.
    """

    name: str
    """A letter, then letters, digits, ``_``, ``.`` and ``-``; at most 100."""
    kind: TopicKind
    """When messages are delivered, and what a duplicate does."""
    slots: int = 64
    """Parts that are worked off independently; a power of two up to 4,096."""
    max_retries: int = MAX_RETRIES
    """Attempts after the first one, 0 to 16; then a message is a dead letter."""
    visibility_timeout_ms: int = 30_000
    """How long a delivery may stay unsettled before it is handed out again."""
    backoff_ms: int = 1_000
    """After failure ``f`` a message waits ``min(backoff_ms * 2**(f-1), backoff_max_ms)``; 0 retries at once."""
    backoff_max_ms: int = 60_000
    """The longest such wait."""
    expires_ms: int = 0
    """A message not delivered so long after it was due (priority topics: accepted) expires; 0: it waits for ever. For
    messages sent from now on that do not say so themselves."""
    unique_for_ms: int = 0
    """An id that was accepted is not accepted again for so long, whatever becomes of it: such a send is a duplicate. 0:
    only while it waits, when it merges. For messages that do not say so themselves."""
    versions_for_ms: int = 0
    """So long after a version of an id was handed out, or acknowledged, no older one is: it is outdated. 0: only while
    one waits or is in flight, when it merges."""
    on_failure: OnFailure = OnFailure.CONTINUE
    """Wait: after a failure the next of that slot basis is handed out when the failed one is done, or dead; others of
    the slot go on."""
    in_order: bool = False
    """Whether each version of a key is a message of its own, handed out when the one before it has been handled.
    Messages must name a ``key`` and a ``version``."""
    first_version: int = 1
    """In order: with which version a key begins; 0: with whichever comes first."""
    skip_after_ms: int = 0
    """In order: so long the others wait for a version that is dead, cancelled, expired or never came; then they go on
    without it. 0: until somebody lets them."""
    merge: Merge = Merge.LATEST
    """Whose content survives when a duplicate with a key merges; never: each send is a message of its own."""
    tenant_from: str = ""
    """What the tenant of messages is read from that do not say it themselves: ``header:<name>``, ``key:<separator>``
    (the key up to that); "": nothing. For messages sent from now on."""
    fair: bool = False
    """Priority topics: tenants take turns, whoever sends most; what is of one tenant comes by priority."""
    tenant_weights: str = ""
    """Of fair topics: who has more turns than others, ``acme=3, globex=10``; a tenant that is not named has 1."""
    tenant_limits: str = ""
    """Of fair topics: who may have how much, ``acme=held, globex=10/s, initech=3 at once``; the others any number."""
    max_content_bytes: int = 1_048_576
    """Larger contents are refused (`ContentTooLarge`)."""
    weight: int = 1
    """The topic's share of a worker's threads."""
    paused: bool = False
    """Whether nothing is taken; sending goes on."""
    max_backlog: int = 0
    """So many may wait (store and retry, all slots), then sends of new ones raise `BacklogFull`; 0: any number."""
    rate_limit: int = 0
    """Messages taken per second by the whole fleet; 0: as many as can be."""
    concurrency: int = 0
    """So many of its messages are in flight at once, in the whole fleet; 0: any number."""
    key_concurrency: int = 0
    """So many messages of one slot basis (the key, or what ``slot_basis`` says) are in flight at once, in the whole
    fleet; others of the slot go on. 0: any number."""
    undo_ms: int = UNDO_MS
    """How long cancelled and dropped messages can be restored; 0: not at all."""
    result_for_ms: int = 0
    """How long it is kept what a listener returned for a message; 0: not at all, but of messages that ask for it."""
    journal: Journal = Journal.OFF
    """Whether every change of a message is written to the slots' journals."""
    journal_max: int = 1_000_000
    """So many entries (all slots) may wait for the journal's readers, then sends raise `JournalFull`; 0: any number."""
    archive_for_ms: int = 0
    """So long an archive keeps what messages said that are over; then their transitions stay, without id and content. A
    day at least; 0: for ever."""
    max_length: int = 0
    """Streams: so many entries are kept (all slots, each its share), older ones are trimmed; 0: any number."""
    max_age_ms: int = 0
    """Streams: entries older than this are trimmed; 0: none."""
    trim: Trim = Trim.NEARLY
    """Streams: nearly leaves up to some hundred entries more per slot, and costs less than exact."""
    trim_unread: bool = False
    """Streams: whether trimming cuts even what a durable group has not finished."""
    lateness_objective_ms: int = 0
    """Topics with due times: 99 of 100 deliveries should be no later than this; the console measures it; 0: none."""
    description: str = ""
    """For people."""
    version: int = 0
    """0 until the definition is stored, then one more with each change."""
    updated_ms: int = 0
    """When it was last changed."""
    created_ms: int = 0
    """Tells one life of the topic from the next."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or NAME.fullmatch(self.name) is None:
            raise InvalidTopic(
                f"topic name {self.name!r} must start with a letter and hold only letters, digits, '_', '.' and '-',"
                " at most 100 of them"
            )
        object.__setattr__(self, "kind", self._choice("kind", TopicKind))
        object.__setattr__(self, "merge", self._choice("merge", Merge))
        object.__setattr__(self, "journal", self._choice("journal", Journal))
        object.__setattr__(self, "on_failure", self._choice("on_failure", OnFailure))
        object.__setattr__(self, "trim", self._choice("trim", Trim))
        self._whole("slots", 1, MAX_SLOTS)
        if self.slots & (self.slots - 1):
            raise InvalidTopic(f"slots={self.slots} must be a power of two from 1 to {MAX_SLOTS}")
        self._whole("max_retries", 0, MAX_RETRIES)
        self._whole("visibility_timeout_ms", 100, 86_400_000)
        self._whole("backoff_ms", 0, 86_400_000)
        self._whole("backoff_max_ms", 0, 86_400_000)
        self._whole("expires_ms", 0, MAX_EXPIRES_MS)
        self._whole("unique_for_ms", 0, MAX_UNIQUE_MS)
        check_tenant_from(self.tenant_from)
        check_weights(self.tenant_weights)
        check_limits(self.tenant_limits)
        self._whole("versions_for_ms", 0, MAX_VERSIONS_MS)
        self._whole("first_version", 0, 2**52)
        self._whole("skip_after_ms", 0, MAX_SKIP_MS)
        self._whole("max_content_bytes", 64, 64 * 1_048_576)
        self._whole("weight", 1, 1_000)
        self._whole("max_backlog", 0, MAX_BACKLOG)
        self._whole("rate_limit", 0, MAX_RATE)
        self._whole("concurrency", 0, MAX_CONCURRENCY)
        self._whole("key_concurrency", 0, MAX_KEY_CONCURRENCY)
        self._whole("undo_ms", 0, MAX_UNDO_MS)
        self._whole("result_for_ms", 0, MAX_RESULT_MS)
        self._whole("journal_max", 0, MAX_JOURNAL)
        self._whole("archive_for_ms", 0, MAX_ARCHIVE_MS)
        if 0 < self.archive_for_ms < 86_400_000:
            raise InvalidTopic(f"archive_for_ms={self.archive_for_ms} must be 0, or a day (86400000) at least")
        self._whole("max_length", 0, MAX_LENGTH)
        self._whole("max_age_ms", 0, MAX_AGE_MS)
        self._whole("lateness_objective_ms", 0, MAX_OBJECTIVE_MS)
        self._whole("version", 0, 2**53)
        self._whole("updated_ms", 0, 2**53)
        self._whole("created_ms", 0, 2**53)
        if self.backoff_max_ms < self.backoff_ms:
            raise InvalidTopic(f"backoff_max_ms={self.backoff_max_ms} must not be below backoff_ms={self.backoff_ms}")
        for field in ("paused", "trim_unread", "in_order", "fair"):
            if not isinstance(getattr(self, field), bool):
                raise InvalidTopic(f"{field} must be true or false, not {getattr(self, field)!r}")
        try:
            check_text(self.description, MAX_DESCRIPTION)
        except NotText as error:
            raise InvalidTopic(f"description {error}") from None
        for field in ("unique_for_ms", "versions_for_ms"):
            if getattr(self, field) and self.merge is Merge.NEVER:
                raise InvalidTopic(f"{field}= does not go with merge='never', where no two messages have the same id")
        if self.in_order and (self.versions_for_ms or self.merge is Merge.NEVER):
            field = "versions_for_ms=" if self.versions_for_ms else "merge='never'"
            raise InvalidTopic(f"{field} does not go with in_order=True, where each version has an id of its own")
        if self.in_order and self.key_concurrency:
            raise InvalidTopic(
                "key_concurrency= does not go with in_order=True, where one version of a key is in flight at a time"
            )
        self._fits_its_kind()

    def _fits_its_kind(self) -> None:
        for field, (normal, why) in (NOT_OF_STREAMS if self.is_stream else ONLY_OF_STREAMS).items():
            if getattr(self, field) != normal:
                raise InvalidTopic(f"{field}={getattr(self, field)!r} does not fit a {self.kind.value} topic: {why}")
        if self.fair and self.kind is not TopicKind.PRIORITY:
            raise InvalidTopic(f"fair=True does not fit a {self.kind.value} topic: a due time leaves no room for turns")
        if self.lateness_objective_ms and self.kind is TopicKind.PRIORITY:
            raise InvalidTopic("lateness_objective_ms does not fit a priority topic: its messages have no due times")

    def _choice(self, field: str, choices: type[StrEnum]) -> StrEnum:
        try:
            return choices(getattr(self, field))
        except ValueError:
            names = ", ".join(choice.value for choice in choices)
            raise InvalidTopic(f"{field}={getattr(self, field)!r} must be one of: {names}") from None

    def _whole(self, field: str, low: int, high: int) -> None:
        value = getattr(self, field)
        if type(value) is not int or not low <= value <= high:
            raise InvalidTopic(f"{field}={value!r} must be a whole number from {low} to {digits(high)}")

    @property
    def timed(self) -> bool:
        """Whether messages come in the order of times."""
        return self.kind in {TopicKind.RANGE_MERGE, TopicKind.FIXED_TIME} or self.is_group

    def paused_at(self, now_ms: int) -> bool:
        """Whether nothing is taken at that time of the server."""
        return self.paused

    @property
    def is_stream(self) -> bool:
        """Whether messages are kept and read, and not taken and settled."""
        return self.kind is TopicKind.STREAM and not self.is_group

    is_group: ClassVar[bool] = False
    """Whether it is a consumer group of a stream topic, see `rmq_core.model.group`."""

    @property
    def shape(self) -> str:
        """What every script call tells, so that a slot of another life of the topic refuses it."""
        return f"{self.kind.value} {self.slots} {self.created_ms}"

    @property
    def generation(self) -> int:
        """Grows with each change of the definition, and with each life of the topic."""
        return self.created_ms * 1_000 + self.version

    def same_definition(self, other: Topic) -> bool:
        """Equal but for what storing adds (``version``, ``updated_ms``, ``created_ms``)."""
        stored = replace(other, version=self.version, updated_ms=self.updated_ms, created_ms=self.created_ms)
        return self == stored

    def to_json(self) -> str:
        """The stored form, without ``version`` and the times: the registry adds those."""
        values = asdict(self)
        del values["version"], values["updated_ms"], values["created_ms"]
        return json.dumps(values, separators=(",", ":"))

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Topic:
        """Builds a definition from untrusted values; unknown fields are an `InvalidTopic`."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise InvalidTopic(f"unknown field(s) {', '.join(unknown)}; known are {', '.join(sorted(known))}")
        missing = sorted({"name", "kind"} - set(values))
        if missing:
            raise InvalidTopic(f"missing field(s): {', '.join(missing)}")
        return cls(**values)

    @classmethod
    def from_stored(cls, stored: bytes | str) -> Topic:
        """Reads what the registry holds; fields of a newer release are ignored, not refused. Raises `InvalidTopic`."""
        known = {field.name for field in fields(cls)}
        try:
            values = {name: value for name, value in json.loads(stored).items() if name in known}
            if isinstance(values.get("description"), str):  # older releases let anything in
                values["description"] = shown(values["description"], MAX_DESCRIPTION)
            return cls(**values)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise InvalidTopic(f"this is no definition: {error}") from None
