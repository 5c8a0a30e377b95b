"""What somebody sends who wants to break it, at every route, in every field: refused in our form, never stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from console.access import Permission
from console.api.http.schemas import NEEDS_REASON
from console.models import AuditEntry
from console.usecases.actions import REASON_NEEDED
from rmq_core import TopicKind
from tests.console.api.conftest import BASE, REFUSAL, Caller, make_token, openapi, problem
from tests.console.api.test_walk import ROUTES
from tests.console.conftest import Queue

BODIES = sorted(key for key in ROUTES if key[0] in ("PATCH", "POST", "PUT"))
HALF = "\ud800"
NO_TEXT = [HALF, "a\udfffb", "x" * 1_100_000, ["a"], {"a": "b"}, True, 7]
NO_REASON = ["", " \t", "\u200b", "\ufeff \u2060", "\u2800\u3164", "\u0301\ufe0f", "\U000e0041"]
"""Of which nobody sees anything."""
UNSHOWN = ["\x00", "a\x1b[2J", "\u202egnp.exe", "two\u2028lines", "\x85", "\ufffe"]
NO_NUMBER = [True, False, "many", "1e3", -1, 10**30, [], {}, 0.5, HALF]
# As they come over the wire: what Python's own writer would not write.
RAW = [
    b"", b"{", b"nonsense", b"[]", b"7", b'"text"', b"null", b'{"a":1}{"b":2}', b'{"reason":"a","reason":"b"}',
    b'{"reason":NaN}', b'{"delay_ms":Infinity}', b'{"delay_ms":1e999}', b'{"delay_ms":' + b"9" * 5_000 + b"}",
    b"[" * 50_000, b'{"a":' * 2_000 + b"1" + b"}" * 2_000, b'{"reason":"\xff"}', b'{"reason":"\xed\xa0\x80"}',
    b'{"reason":"\\ud800"}', b'{"\\ud800":1}', '{"reason":"a"}'.encode("utf-16"), b'\xef\xbb\xbf{"reason":"a"}',
]  # fmt: skip


@pytest.fixture
def admin(queue: Queue, db: None) -> Caller:
    queue.topic()
    queue.topic("ranked", TopicKind.PRIORITY)
    queue.delayed("a")
    queue.dead("d")
    queue.worker("w")
    return Caller(*make_token("Admin", rate_per_minute=1_000_000))


def schema_of(key: tuple[str, str]) -> dict[str, Any] | None:
    described = openapi()
    body = described["paths"][f"{BASE}{key[1]}"][key[0].lower()].get("requestBody")
    if body is None:
        return None
    schema = body["content"]["application/json"]["schema"]
    reference = schema.get("$ref") or schema["allOf"][0]["$ref"]
    found: dict[str, Any] = described["components"]["schemas"][reference.rpartition("/")[2]]
    return found


def kinds_of(field: dict[str, Any]) -> set[str]:
    return {each.get("type", "") for each in [field, *field.get("anyOf", [])]}


def snapshot(queue: Queue) -> tuple[Any, ...]:
    """All that a request could have stored."""
    topics = queue.inspector.topics()
    held = [(sample.topic.name, sample.backlog, sample.dead, sample.trash) for sample in queue.inspector.sample()]
    # An export changes nothing, though it is recorded.
    done = AuditEntry.objects.filter(done__gt=0).exclude(action="export").count()
    return topics, held, queue.inspector.placement_overrides(), done


def refused(answer: Any, place: Any) -> None:
    assert 400 <= answer.status_code < 500, (place, answer.status_code, answer.content[:500])
    found = answer.json()
    assert set(found) == REFUSAL, place
    answer.content.decode()


def raw_of(key: tuple[str, str]) -> list[bytes]:
    """All of them for one route. One parser reads the bodies of all, so the others get a third each, in turn."""
    return RAW if key == ("PUT", "/topics/{topic}") else RAW[BODIES.index(key) % 3 :: 3]


@pytest.mark.parametrize("key", BODIES, ids=lambda key: " ".join(key))
def test_what_is_no_json_object_is_refused(queue: Queue, admin: Caller, key: tuple[str, str]) -> None:
    if schema_of(key) is None:
        return
    route = ROUTES[key]
    optional = not openapi()["paths"][f"{BASE}{key[1]}"][key[0].lower()]["requestBody"].get("required")
    before = snapshot(queue)
    for raw in raw_of(key):
        if not raw and (optional or route.body in ({}, None)):
            continue
        refused(admin(key[0], route.path, raw), raw[:40])
    assert snapshot(queue) == before


@pytest.mark.parametrize("key", BODIES, ids=lambda key: " ".join(key))
def test_no_field_takes_what_is_not_its_kind(queue: Queue, admin: Caller, key: tuple[str, str]) -> None:
    schema = schema_of(key)
    if schema is None:
        return
    route = ROUTES[key]
    before = snapshot(queue)
    tried = 0
    for name, field in schema["properties"].items():
        for value in bad_values(name, kinds_of(field)):
            body = {**(route.body or {}), name: value}
            refused(admin(key[0], route.path, json.dumps(body).encode()), (name, repr(value)[:40]))
            tried += 1
    assert tried or not schema["properties"]
    assert snapshot(queue) == before


def bad_values(name: str, kinds: set[str]) -> Iterator[Any]:
    if kinds & {"integer", "number"}:
        # Fractions are for rates; numbers may be written as text where they are large.
        yield from (each for each in NO_NUMBER if not (isinstance(each, float) and "number" in kinds))
    elif "boolean" in kinds:
        yield from (1, 0, "yes", "true", [], {}, HALF)
    elif "string" in kinds and name not in ("content", "content_base64", "key", "slot_basis"):
        yield from NO_TEXT
        if name in ("reason", "worker", "slots", "confirm", "description"):
            yield from UNSHOWN
    elif "string" in kinds:
        yield from (HALF, ["a"], {"a": "b"}, True, 7)
    elif "array" in kinds:
        yield from (HALF, {"a": 1}, 7, True, [HALF], [[]], [True])
    elif "object" in kinds:
        yield from (HALF, [1], 7, True, {HALF: "a"}, {"a": HALF})


def test_one_half_character_no_longer_blinds_everybody(queue: Queue, db: None) -> None:
    """As it was found: a token for one topic, a description, and from then on no sample."""
    editor = Caller(*make_token("Editor", "a"))
    body = b'{"kind":"priority","description":"\\ud800"}'
    found = problem(editor("PUT", "/topics/a", body), 422, "invalid")
    assert found["fields"][0]["field"] == "description"
    assert queue.inspector.topics() == []


NO_JSON = [
    *("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "text/json"),
    *("application/json; charset=latin-1", "application/json; charset=utf-16"),
]


@pytest.mark.parametrize("kind", NO_JSON)
def test_only_json_is_json(queue: Queue, admin: Caller, kind: str) -> None:
    answer = admin._client.generic(
        "POST", f"{BASE}/topics/orders:pause", b'{"reason":"a"}', content_type=kind,
        headers={"Authorization": f"Bearer {admin.secret}"},
    )  # fmt: skip
    problem(answer, 415, "unsupported_media_type")
    assert not queue.inspector.topics()[0].paused
    for good in ("application/json", "application/json; charset=UTF-8", "Application/JSON"):
        answer = admin._client.generic(
            "POST", f"{BASE}/topics/orders:pause", b'{"reason":"a"}', content_type=good,
            headers={"Authorization": f"Bearer {admin.secret}"},
        )  # fmt: skip
        assert answer.status_code == 200, good


ADDRESSES = [
    "%00",
    "%ED%A0%80",
    "%FF",
    "a%0Ab",
    "a%0D%0AX-Evil:%201",
    "%E2%80%AEgnp",
    "x" * 5_000,
    "%25zz",
    "..%2F..",
    "a b",
]


@pytest.mark.parametrize("odd", ADDRESSES)
def test_odd_addresses_and_queries(queue: Queue, admin: Caller, odd: str) -> None:
    before = snapshot(queue)
    for method, path in sorted(ROUTES):
        if "{" not in path:
            continue
        address = path.replace("{topic}", "orders") if path.count("{") > 1 else path
        for name in ("topic", "id", "worker", "slot", "operation", "ident"):
            address = address.replace(f"{{{name}}}", odd)
        answer = admin(method, address, ROUTES[method, path].body)
        assert answer.status_code < 500, (method, address, answer.content)
        assert "X-Evil" not in answer
        if answer.status_code >= 400:
            refused(answer, (method, address))
    described = openapi()["paths"]
    for method, path in sorted(key for key in ROUTES if key[0] == "GET"):
        for parameter in described[f"{BASE}{path}"]["get"].get("parameters", []):
            if parameter["in"] == "query":
                answer = admin.get(f"{ROUTES[method, path].path.partition('?')[0]}?{parameter['name']}={odd}")
                assert answer.status_code < 500, (path, parameter["name"], answer.content)
    assert snapshot(queue) == before


def test_odd_headers(queue: Queue, admin: Caller) -> None:
    before = snapshot(queue)
    for header in ("If-Match", "If-None-Match", "Idempotency-Key", "X-Request-Id", "Authorization", "Accept-Language"):
        for value in ("\xff\xfe", '"' * 300, "a\tb", "W/", "é"):
            answer = admin(
                "POST", "/topics/orders:rollback", {"revision": 1, "reason": "x"}, **{header.replace("-", "_"): value}
            )
            assert 400 <= answer.status_code < 500, (header, value, answer.content)
    assert snapshot(queue) == before


def test_reasons_in_addresses_are_looked_at_too(queue: Queue, admin: Caller) -> None:
    for odd in ("%00", "%1B%5B2J", "%E2%80%AEx", "x" * 501):
        refused(admin("DELETE", f"/topics/orders?reason={odd}&force=true"), odd)
        refused(admin("DELETE", f"/topics/orders/messages/a?reason={odd}"), odd)
        refused(admin("PUT", f"/topics/fresh?reason={odd}", {"kind": "priority"}), odd)
    assert queue.find("a") is not None and len(queue.inspector.topics()) == 2
    # What was tried is recorded, in a form that can be shown.
    tried = [entry.reason for entry in AuditEntry.objects.filter(result="refused")]
    assert "\\x1b[2J" in tried and "\\u202ex" in tried and not any("\x00" in each for each in tried)
    assert admin.get("/audit").status_code == 200


@pytest.mark.parametrize("key", sorted(ROUTES), ids=lambda key: " ".join(key))
def test_methods_that_are_not_there_are_named(queue: Queue, admin: Caller, key: tuple[str, str]) -> None:
    path = ROUTES[key].path.partition("?")[0]
    there = {method for method, other in ROUTES if other == key[1]}
    expected = there | {"OPTIONS"} | ({"HEAD"} if "GET" in there else set())
    if key[1].endswith(("{id}:run", "{id}:reschedule", "{id}:restore")):
        expected |= {"GET", "HEAD", "DELETE"}  # of messages whose ids end like that
    options = admin("OPTIONS", path)
    assert (options.status_code, options["Allow"]) == (204, ", ".join(sorted(expected)))
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"} - expected:
        answer = admin(method, path)
        problem(answer, 405, "method_not_allowed")
        assert answer["Allow"] == options["Allow"], method
    if "GET" in there:
        whole, bare = admin("GET", ROUTES[key].path), admin("HEAD", ROUTES[key].path)
        assert bare.status_code == whole.status_code and bare.content == b""
        assert bare["Content-Type"] == whole["Content-Type"] and bare["X-Request-Id"]
        if "ETag" in whole and "/why" not in path:  # whose evidence says how long it has been
            assert bare["ETag"] == whole["ETag"]


def test_where_what_was_made_is(queue: Queue, admin: Caller) -> None:
    made = admin("PUT", "/topics/fresh", {"kind": "priority"})
    assert made.status_code == 201
    assert admin.get(made["Location"].removeprefix(BASE)).json()["name"] == "fresh"
    assert "Location" not in admin("PUT", "/topics/fresh", {"weight": 2}, If_Match=made["ETag"])
    started = admin("POST", "/reconciliations", {"reason": "look"})
    assert started.status_code == 202
    assert admin.get(started["Location"].removeprefix(BASE)).json()["id"] == started.json()["id"]
    bulk = admin("POST", "/topics/orders/dead:requeue", {"filter": {}, "reason": "again"})
    assert bulk.status_code == 202
    assert admin.get(bulk["Location"].removeprefix(BASE)).json()["id"] == bulk.json()["id"]


def test_saving_what_is_there_already_is_no_new_version(queue: Queue, admin: Caller) -> None:
    tag = admin.get("/topics/orders")["ETag"]
    same = admin("PUT", "/topics/orders", {"weight": 1}, If_Match=tag)
    assert (same.status_code, same["ETag"]) == (200, tag)
    assert queue.inspector.topics()[0].version == 1
    entry = AuditEntry.objects.get(action="edit_topic")
    assert (entry.result, entry.detail) == ("done", {"version": 1, "unchanged": True})
    problem(admin("PUT", "/topics/orders", {"weight": 1}, If_Match='"7"'), 412, "version_conflict")
    problem(admin("DELETE", "/topics/ranked?reason=old", If_Match='"7"'), 412, "version_conflict")
    ranked = admin.get("/topics/ranked")["ETag"]
    assert admin("DELETE", "/topics/ranked?reason=old", If_Match=ranked).status_code == 200


def test_the_description_says_which_reasons_are_needed(queue: Queue, admin: Caller) -> None:
    described = openapi()
    schedule = described["paths"][f"{BASE}/reconciliations/schedules/{{number}}"]["delete"]["parameters"]
    assert [each["required"] for each in schedule if each["name"] == "reason"] == [True]
    # Only to ask what would go with it needs none.
    assert (
        admin("DELETE", "/topics/orders").status_code == admin("DELETE", "/topics/orders?reason=%20").status_code == 422
    )
    assert admin("DELETE", "/topics/orders?validate_only=true").status_code == 200
    for route in (each for key, each in ROUTES.items() if key[0] == "DELETE" and "reason=" in each.path):
        path, _, query = route.path.partition("?")
        others = "&".join(each for each in query.split("&") if not each.startswith("reason="))
        for empty in NO_REASON:
            answer = admin("DELETE", f"{path}?{others}&reason={quote(empty)}")
            assert answer.status_code in (404, 422), (route, empty, answer.content)  # 404: there is none to delete
    for key, route in ROUTES.items():
        schema = schema_of(key) if key in BODIES else None
        if schema is None or "reason" not in schema["properties"] or route.needs is Permission.VIEW:
            continue
        body = {name: value for name, value in (route.body or {}).items() if name != "reason"}
        required = "reason" in schema.get("required", [])
        needed = required or "anyOf" in schema
        if "ids" in body and not required and schema.get("anyOf") != NEEDS_REASON["anyOf"]:
            # Of messages that are named, only what takes something out or brings it back.
            needed = route.needs in REASON_NEEDED
        for empty in (body, *({**body, "reason": each} for each in NO_REASON)):
            answer = admin(key[0], route.path, empty)
            assert (answer.status_code == 422) == needed, (key, empty, answer.content)
            if needed and empty.get("reason", "").strip():
                assert answer.json()["message"] == "Say why: this action is recorded with its reason.", key
                assert answer.json()["code"] == "bad_request" or answer.json()["fields"][0]["field"] == "reason", key
