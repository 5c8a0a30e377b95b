"""Words and shapes that several resources of the API share."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from ninja import Path as PathParam
from ninja import Query, Schema
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from console.shapes import SAFE_INTEGER
from rmq_core.snapshots import STATES

REASON_MAX = 500
CURSOR_MAX = 8_000
ID_MAX = 4_000


class Strict(Schema):
    """A request body: unknown fields are refused, so that a misspelt one is not silently without effect."""

    model_config = ConfigDict(extra="forbid")


def lossless(value: int | None) -> int | str | None:
    """A whole number as JSON that no JavaScript program rounds: text beyond 2^53 - 1."""
    return value if value is None or abs(value) <= SAFE_INTEGER else str(value)


def _whole(value: Any) -> Any:
    if isinstance(value, bool) or (isinstance(value, str) and not (value.isascii() and value.isdigit())):
        raise ValueError("must be a whole number, or its digits as text")
    return int(value) if isinstance(value, str) and len(value) <= 20 else value


def _printable(value: str) -> str:
    if "\x00" in value:
        raise ValueError("must not hold the NUL character")
    return value


BigIn = Annotated[
    int,
    BeforeValidator(_whole, json_schema_input_type=int | Annotated[str, Field(pattern="^[0-9]{1,16}$")]),
]
"""A whole number, also accepted as text, for callers whose numbers are doubles."""

BigOut = int | str
Text = Annotated[str, AfterValidator(_printable)]
Reason = Annotated[
    str,
    AfterValidator(_printable),
    Field(max_length=REASON_MAX, description="Why; kept in the audit.", examples=["supplier is back, see INC-4711"]),
]
WHY = Query("", max_length=REASON_MAX, pattern=r"^[^\x00]*$", description="The reason; kept in the audit.")
"""Default of a query parameter. (ninja changes what stands in an `Annotated`, so that cannot be shared.)"""
State = Literal["delayed", "ready", "waiting", "in_flight", "dead", "trash"]
assert set(get_args(State)) == set(STATES)

TopicName = Annotated[
    str, PathParam(description="The topic's name.", pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,99}$", examples=["orders"])
]
MessageId = Annotated[
    str,
    PathParam(
        description="The id as a send returned it, percent-encoded. Any id may also be written as % and the hex digits"
        " of its bytes, which keeps slashes and colons out of the address.",
        min_length=1,
        max_length=ID_MAX,
    ),
]
Cursor = Annotated[
    str | None,
    Query(description="Where the page before ended: its `next`. Belongs to that query alone.", max_length=CURSOR_MAX),
]
Limit = Annotated[int, Query(ge=1, le=200, description="Rows of a page.")]


class FieldProblem(Schema):
    field: str
    problem: str


class Error(Schema):
    """Every refusal. `code` is for programs, `message` for people, `request_id` for finding it in the log."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "code": "unknown_topic",
                    "message": "topic 'orders' is not defined",
                    "request_id": "7b1f…",
                    "fields": [],
                }
            ]
        }
    )
    code: str
    message: str
    request_id: str
    fields: list[FieldProblem]


class MessageResult(Schema):
    """What an action did to one message."""

    slot: int
    id: str
    status: Literal["done", "in_flight", "not_found"]


class ActionOutcome(Schema):
    """What an action did: `asked` for so many, `done` for so many."""

    asked: int
    done: int
    results: list[MessageResult]
