"""Consumer groups on the way in and out of the API."""

from __future__ import annotations

from typing import Annotated, Literal

from ninja import Schema
from pydantic import ConfigDict, Field, model_validator

from console.api.http.schemas import NEEDS_REASON, Reason, Strict, check_why
from rmq_core.model.group import Acks
from rmq_core.model.topic import MAX_SLOTS

COURSES = Literal["unknown", "paused", "keeping_up", "catching_up", "falling_behind", "stuck"]


class CourseView(Schema):
    """How a group does, judged by the keeper from the course of the last minutes, and not by a threshold.

    `lag_before`, `lag`: ahead `for_ms` ago and now; `read` in that time; `left_ms`: until it has caught up, so.
    """

    course: COURSES
    for_ms: int
    lag_before: int | None
    lag: int | None
    read: int
    left_ms: int | None


class GroupLine(Schema):
    """A group. `lag`: entries ahead of it, null where that is not known; `lag_ms`: the age of the next one; `missed`:
    trimmed or deleted before it had read them; `read`: entries handed out for the first time since it exists. `member`:
    of a broadcast, the worker with which it goes.
    """

    name: str
    group: str
    durable: bool
    acks: str
    waits: bool
    member: str
    start: str
    paused: bool
    paused_until_ms: int
    created_ms: int
    lag: int | None
    lag_ms: int
    missed: int
    read: int
    acked: int
    retrying: int
    in_flight: int
    oldest_taken_ms: int | None
    dead: int
    ledger_gap: int
    course: CourseView | None = Field(description="Null until the keeper has looked.")


class Groups(Schema):
    groups: list[GroupLine]


class GroupView(GroupLine):
    """With its `settings`, and those of them that are its `own` and not its topic's. `etag`: for `If-Match`."""

    settings: dict[str, int]
    own: list[str]
    etag: str


class GroupMember(Schema):
    """Who takes. `name` is "" for all who gave none; `alive`: whether a worker of that name runs, null where none is
    known. `acked_per_s`: lately."""

    name: str
    in_flight: int
    oldest_taken_ms: int | None
    slots: str
    taken: int
    acked: int
    failed: int
    acked_per_s: float
    seen_ms: int | None
    alive: bool | None


class GroupMembers(Schema):
    members: list[GroupMember]
    as_of_ms: int


class GroupBody(Strict):
    """Of a group to be made: `start`, `durable`, `acks`, `waits`, which stay. The settings may be changed later; null:
    the topic's."""

    start: str | int | None = Field(None, description="start (default), end, ms since the epoch, or an entry's id.")
    durable: bool | None = Field(None, description="Whether trimming waits for it; true where it is left out.")
    acks: Acks | None = Field(None, description="none: what is handed out is done, so that losing it is possible.")
    waits: bool | None = Field(None, description="Whether what stands behind one that failed waits for it.")
    max_retries: int | None = None
    visibility_timeout_ms: int | None = None
    backoff_ms: int | None = None
    backoff_max_ms: int | None = None
    weight: int | None = None
    rate_limit: int | None = None
    undo_ms: int | None = None
    reason: Reason = ""


class Planned(Strict):
    """What needs a reason, unless it is only asked what would happen."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=NEEDS_REASON)
    validate_only: bool = False
    reason: Reason = ""

    @model_validator(mode="after")
    def _why(self) -> Planned:
        check_why(self.reason, self.validate_only)
        return self


class MoveBody(Planned):
    """`to`: start, end, a time (ms since the epoch; what came then is read), or an entry's id, behind which it reads.
    A reason is needed, but for `validate_only`: then nothing is changed, and the answer is the plan."""

    to: str | int = Field(examples=["start", 1764000000000, "1764000000000-0"])
    slots: list[Annotated[int, Field(ge=0, lt=MAX_SLOTS)]] = Field(
        default_factory=list, max_length=MAX_SLOTS, description="Only these; all where it is empty."
    )


class MovedSlot(Schema):
    """A slot before and after. `behind`: the entry that was read last."""

    slot: int
    behind_before: str | None
    behind: str
    lag_before: int
    lag: int


class MovePlan(Schema):
    """`again`: entries that are read once more; `skipped`: that are passed over. `command`: the same for a terminal."""

    slots: list[MovedSlot]
    lag_before: int
    lag: int
    again: int
    skipped: int
    command: str


class ClaimBody(Planned):
    """`force`: also what a worker has that runs; its answer will be stale. A reason is needed, but for
    `validate_only`."""

    member: str = Field(max_length=100, description='As in the list of members; "": all who gave no name.')
    force: bool = False


class ClaimedSlot(Schema):
    slot: int
    entries: int
    kept: int


class Claim(Schema):
    """`entries` come back, uncounted; `kept` are left to a worker that runs and has them."""

    entries: int
    kept: int
    slots: list[ClaimedSlot]
    command: str
