"""Messages on the way in, and what is answered of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ninja import Schema
from pydantic import ConfigDict, Field, model_validator

from console.api.http.schemas import BigIn, Reason, Strict
from rmq_core.model.outcomes import DELAY_MAX_MS
from rmq_core.model.states import State
from rmq_core.model.tenants import TENANT_MAX
from rmq_core.model.topic import MAX_UNIQUE_MS

MESSAGES_MAX = 1_000


class OneMessage(Strict):
    """`content` (text) or `content_base64`, and what the topic's kind asks for.

    range-merge: `range_ms`; priority: `priority`; fixed-time: `due_ms`, or `delay_ms` from now. Of a stream nothing
    more is needed: `fields` may stand in the place of a content, and `id` gives the entry an id of one's own.
    """

    content: str | None = Field(None, description="The content as text.")
    content_base64: str | None = Field(None, description="The content as bytes, instead of `content`.")
    key: str | None = Field(None, min_length=1, description="The merge identity; without one it is the content.")
    slot_basis: str | None = Field(None, min_length=1, description="Messages with the same one run one after another.")
    headers: dict[str, str] | None = None
    version: BigIn = Field(0, description="An older version never replaces a newer one of the same id.")
    expires_ms: int | None = Field(
        None,
        ge=0,
        le=DELAY_MAX_MS,
        description="Not delivered so long after it is due (priority: accepted), it expires. 0: never.",
    )
    unique_for_ms: int | None = Field(
        None, ge=0, le=MAX_UNIQUE_MS, description="Not accepted where its id was so short a time ago. 0: whatever was."
    )
    tenant: str | None = Field(
        None, max_length=TENANT_MAX, description="Whose it is, where the topic does not read it. Empty: nobody's."
    )
    if_done: dict[str, Any] | None = Field(
        None,
        description="Sent when it has succeeded: `topic`, `content` and when it is delivered, as of Python's `send`.",
    )
    if_dead: dict[str, Any] | None = Field(None, description="Sent when it has died.")
    range_ms: int | None = None
    priority: BigIn | None = None
    due_ms: BigIn | None = None
    delay_ms: int | None = Field(None, ge=0, le=DELAY_MAX_MS)
    fields: dict[str, str] | None = Field(None, description="Of a stream: names and values, instead of a content.")
    id: str | None = Field(
        None, min_length=3, max_length=41, description="Of a stream: an id larger than every one its slot has had."
    )


class SendBody(OneMessage):
    """One message, or up to 1,000 under `messages`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"content": '{"order": 4711}', "key": "order-4711", "delay_ms": 60_000},
                {"messages": [{"content": "a", "delay_ms": 1000}, {"content": "b", "delay_ms": 2000}]},
            ]
        },
    )
    messages: list[OneMessage] | None = Field(None, min_length=1, max_length=MESSAGES_MAX)
    allow_past: bool = Field(False, description="Deliver at once what is due in the past, instead of refusing it.")
    validate_only: bool = Field(
        False, description="Check everything, say ids, slots and what is there already, send nothing."
    )
    reason: Reason = ""

    @model_validator(mode="after")
    def _one_or_many(self) -> SendBody:
        single = self.model_fields_set & set(OneMessage.model_fields)
        if self.messages is not None and single:
            raise ValueError(f"give messages, or one message ({', '.join(sorted(single))}), not both")
        return self

    def listed(self) -> Sequence[OneMessage]:
        return [self] if self.messages is None else self.messages


class SendReason(Schema):
    """Why a message would merge, or not, and who wins. `values` are the evidence: times end in `_ms`."""

    code: str
    text: str
    values: dict[str, Any]


class SendResult(Schema):
    """`merged`: it became one with a message that was waiting; null where it was refused (`error`), and where it was
    sent but nobody knows, because the queue's answer was lost and the message was sent again. `found`, of what is only
    checked: the states of what has the id already; null where that was not looked up. `id` is null where the server
    would have given one, as it does in a stream, or where nothing merges. `duplicate_of_ms`: it was not accepted, for
    one of its id had been then, within its period (`unique_for_ms`); `outdated_by`: nor was it, for that version of its
    id has been handed out (`versions_for_ms`). `outcome` and `reasons`, of what is only checked: what it would do now,
    and whose content, version and time would win; null where that was not looked up."""

    id: str | None
    slot: int
    size: int
    found: list[State] | None = None
    outcome: Literal["new", "merged", "older", "duplicate", "outdated", "full"] | None = None
    reasons: list[SendReason] | None = None
    merged: bool | None = None
    duplicate_of_ms: int | None = None
    outdated_by: int | None = None
    error: str | None = None
    message: str | None = None


class SendAnswer(Schema):
    """In the order sent. `sent` counts what the queue has now taken, merged ones included; `duplicates` what it did not
    take again, for it had within their period; `outdated` those of which a newer version has been handed out; `unsure`:
    so many were sent twice, and merged with themselves or with another."""

    sent: int
    merged: int
    duplicates: int = 0
    outdated: int = 0
    unsure: int = 0
    refused: int
    results: list[SendResult]
