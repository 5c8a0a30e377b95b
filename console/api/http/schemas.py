"""Words and shapes that several resources of the API share."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from ninja import Path as PathParam
from ninja import Schema
from ninja.params.functions import Query
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from console.api.http.errors import NO_REASON
from console.serializers.messages import SAFE_INTEGER
from rmq_core.model.states import FORMER_END, former_name
from rmq_core.model.text import check_name, check_text, is_blank

REASON_MAX = 500
CURSOR_MAX = 8_000
ID_MAX = 4_000


class Strict(Schema):
    """A request body: unknown fields are refused, so that a misspelt one is not silently without effect. So are true
    and false where a number is asked for, and numbers and words for true and false."""

    model_config = ConfigDict(extra="forbid")
    FORMER: ClassVar[dict[str, tuple[str, int]]] = {}
    """Former names of fields, taken until `FORMER_END`: the present one, and what to multiply the value by."""

    @model_validator(mode="before")
    @classmethod
    def _take_former(cls, values: Any) -> Any:
        for old, (new, factor) in cls.FORMER.items() if isinstance(values, dict) else ():
            if old in values and new not in values:
                former_name(f"the field {old}", new)
                value = values.pop(old)
                values[new] = value * factor if type(value) in (int, float) else value
        return values

    @field_validator("*", mode="before")
    @classmethod
    def _no_other_type(cls, value: Any, info: ValidationInfo) -> Any:
        kinds = _kinds(cls.model_fields[str(info.field_name)].annotation)
        if isinstance(value, bool):
            if kinds & {int, float} and bool not in kinds:
                raise ValueError("must be a number, not true or false")
        elif isinstance(value, list):
            if any(isinstance(each, bool) for each in value) and bool not in kinds:
                raise ValueError("must be a list without true or false")
        elif value is not None and kinds - {NoneType} == {bool}:
            raise ValueError("must be true or false")
        elif isinstance(value, str) and float in kinds:
            raise ValueError("must be a number, not text")
        return value


def _kinds(annotation: Any) -> set[Any]:
    """The types that a field may have, those of unions apart."""
    if get_origin(annotation) is Annotated:
        return _kinds(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return set().union(*(_kinds(each) for each in get_args(annotation)))
    return {annotation}


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
InSeconds = Annotated[
    int,
    Field(
        description=f"A former name, in seconds; ends with release {FORMER_END}.",
        json_schema_extra={"deprecated": True},
    ),
]
Text = Annotated[str, AfterValidator(_printable)]
"""Words to look for, or of a failure: an application's, so anything but NUL."""
Name = Annotated[str, AfterValidator(check_name)]
"""Printable, in one line."""
Confirm = Annotated[str, AfterValidator(lambda typed: check_text(typed, REASON_MAX))]
_WHY: Any = {"max_length": REASON_MAX, "examples": ["supplier is back, see INC-4711"]}


def _reason(value: str) -> str:
    return check_text(value, REASON_MAX)


def _needed(value: str) -> str:
    if is_blank(value):
        raise PydanticCustomError(NO_REASON, "say why")
    return value


def check_why(reason: str, validate_only: bool) -> None:
    """Of bodies in which only `validate_only` needs no reason."""
    if not validate_only and is_blank(reason):
        raise PydanticCustomError(NO_REASON, "say why")


Reason = Annotated[
    str,
    AfterValidator(_reason),
    Field(**_WHY, description="Why; kept in the audit."),
]
NeededReason = Annotated[
    str,
    AfterValidator(_reason),
    AfterValidator(_needed),
    Field(**_WHY, min_length=1, description="Why; kept in the audit. It must be given."),
]
NEEDS_REASON: Any = {
    "anyOf": [
        {"required": ["reason"], "properties": {"reason": {"minLength": 1}}},
        {"required": ["validate_only"], "properties": {"validate_only": {"const": True}}},
    ]
}
"""Of bodies in which only `validate_only` needs no reason."""
WHY = Query("", max_length=REASON_MAX, description="The reason; kept in the audit.")
CONFIRM = Query("", max_length=100, description="The topic's name, where more than 1,000 messages go with it.")
NEEDED_WHY = Query(..., min_length=1, max_length=REASON_MAX, description="The reason; kept in the audit.")
"""Default of a query parameter. (ninja changes what stands in an `Annotated`, so that cannot be shared.)"""


class WithReason(Strict):
    """Nothing but the reason."""

    reason: Reason = ""


class WithNeededReason(Strict):
    """Nothing but the reason, which must be given."""

    reason: NeededReason


TopicName = Annotated[
    str,
    PathParam(
        description="The topic's name, or that of a consumer group of a stream topic: `<topic>@<group>`.",
        pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,99}(@[A-Za-z0-9][A-Za-z0-9_.-]{0,99})?$",
        examples=["orders"],
    ),
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
EntryIdent = Annotated[
    str,
    PathParam(
        description="The id of an entry of a stream: `<milliseconds>-<number>`.",
        pattern=r"^[0-9]{1,20}-[0-9]{1,20}$",
        examples=["1764000000000-0"],
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
    """Every refusal; the first five members are those of RFC 9457. `code` is for programs, `message` for people,
    `request_id` for finding it in the log."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:rmq-console:unknown_topic",
                    "title": "Unknown topic",
                    "status": 404,
                    "detail": "topic 'orders' is not defined",
                    "instance": "/api/v1/topics/orders",
                    "code": "unknown_topic",
                    "message": "topic 'orders' is not defined",
                    "request_id": "7b1f…",
                    "fields": [],
                }
            ]
        }
    )
    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    message: str
    request_id: str
    fields: list[FieldProblem]


class MessageResult(Schema):
    """What an action did to one message."""

    slot: int
    id: str
    status: Literal["done", "in_flight", "not_found", "occupied", "replaced", "held", "gone", "expires_first", "moved"]


class ActionOutcome(Schema):
    """What an action did: `asked` for so many, `done` for so many."""

    asked: int
    done: int
    results: list[MessageResult]
