"""The OpenAPI description: what ninja knows from the code, and what holds for every route alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from ninja import NinjaAPI
from ninja.openapi.schema import REF_TEMPLATE

from console.api.http.errors import PROBLEM
from console.api.http.gate import OPEN
from console.api.http.idempotency import HEADER, METHODS
from console.api.http.schemas import Error

ABOUT = """
Everything an operator can do, for automation; and sending, taking and settling for other languages.

**Access.** `Authorization: Bearer <token>`; an administrator makes tokens under *API tokens*. Or, in a browser, the
session together with its CSRF token in `X-CSRFToken`. A token has a role, topics, an end, and a rate.

**Errors** all look the same: `{code, message, request_id, fields: [{field, problem}]}`, and beside these the members
of RFC 9457, as `application/problem+json`. Quote `request_id` (also the header `X-Request-Id`, which you may set) when
you ask about one.

**Repeating.** What changes something may carry an `Idempotency-Key`: the same key and body get the same answer for
24 hours.

**Limits.** A token with a rate sees it in `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (seconds)
where it stands. Every GET has an `ETag` and takes `If-None-Match`; one row that is changed with `If-Match` comes whole.

**Lists** have cursors (`next`), not page numbers; a cursor belongs to its query. Numbers beyond 2^53 - 1 are text.
"""

_TEXTS = {
    400: "The request is malformed, or is for a host that is not this one",
    401: "No credentials, or bad ones",
    403: "The role, or the token's topics, do not allow it",
    404: "No such topic, message or address",
    409: "It conflicts with something; the message says what to do",
    412: "If-Match is not the stored version",
    415: "The body is not said to be JSON in UTF-8",
    413: "The body, or a content, is too large",
    422: "Something in the request is wrong; `fields` says what",
    428: "Send If-Match",
    429: "Too many requests, or the topic's backlog is full; wait for Retry-After",
    503: "Redis, or what else is needed, does not answer just now",
}
_ALWAYS = (400, 401, 403, 422, 429, 503)
_KEY_PARAMETER = {
    "in": "header",
    "name": HEADER,
    "required": False,
    "description": "Repeating the request with the same key and body gives the same answer, for 24 hours.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
}
_TAG_PARAMETER = {
    "in": "header",
    "name": "If-None-Match",
    "required": False,
    "description": "ETags of answers that are known: 304 where this would be one of them.",
    "schema": {"type": "string"},
}


class ConsoleAPI(NinjaAPI):
    """Ninja's, with short operation ids and the description completed."""

    def get_openapi_operation_id(self, operation: Any) -> str:
        return str(operation.view_func.__name__)

    def get_openapi_schema(self, **options: Any) -> Any:
        found = super().get_openapi_schema(**options)
        complete(found)
        return found


def complete(description: dict[str, Any]) -> None:
    """Adds access, refusals and the idempotency header to every operation."""
    components = description["components"]
    components["schemas"].update(_error_schemas())
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME},
    }
    description["security"] = [{"token": []}, {"session": []}]
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            _complete_one(path, method, operation)


def _complete_one(path: str, method: str, operation: dict[str, Any]) -> None:
    if any(f"/{each}" in path for each in OPEN):
        operation["security"] = []
        for status in (400, 404, 422, 503) if "{" in path else (400,):
            operation["responses"].setdefault(status, refusal(status))
        return
    refusals = set(_ALWAYS)
    if "{" in path:
        refusals.add(404)
    if method != "get":
        refusals.add(409)
    if "requestBody" in operation:
        refusals |= {413, 415}
    if any(parameter["name"] == "If-Match" for parameter in operation.get("parameters", [])):
        refusals |= {412, 428}
    for status in sorted(refusals):
        operation["responses"].setdefault(status, refusal(status))
    if method.upper() in METHODS:
        operation["parameters"] = [*operation.get("parameters", []), _KEY_PARAMETER]
    elif method == "get" and "application/json" in operation["responses"].get(200, {}).get("content", {}):
        operation["responses"].setdefault(304, {"description": "It is as the caller knows it"})
        if not any(parameter["name"] == _TAG_PARAMETER["name"] for parameter in operation.get("parameters", [])):
            operation["parameters"] = [*operation.get("parameters", []), _TAG_PARAMETER]


def refusal(status: int) -> dict[str, Any]:
    """The description of one kind of refusal."""
    schema = {"$ref": REF_TEMPLATE.format(model="Error")}
    found: dict[str, Any] = {"description": _TEXTS[status], "content": {PROBLEM: {"schema": schema}}}
    if status in (429, 503):
        found["headers"] = {"Retry-After": {"description": "Seconds", "schema": {"type": "integer"}}}
    return found


def _error_schemas() -> dict[str, Any]:
    schema = Error.model_json_schema(ref_template=REF_TEMPLATE)
    inner = schema.pop("$defs", {})
    return {"Error": schema, **inner}


def plain(status: int, kind: str | Iterable[str], description: str, *refusals: int) -> dict[str, Any]:
    """`openapi_extra` of a route whose answer is not JSON, but of one kind or several; `refusals`: statuses that only
    this one has."""
    content = {each: {"schema": {"type": "string"}} for each in ([kind] if isinstance(kind, str) else kind)}
    answers: dict[int, Any] = {status: {"description": description, "content": content}}
    return {"responses": answers | {each: refusal(each) for each in refusals}}
