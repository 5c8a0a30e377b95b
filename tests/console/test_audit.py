"""Reading the audit: filters, cursors, details, exports, and what people did to one message."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient, Client
from django.utils import timezone, translation

from console.models import AuditEntry
from console.models.audit import LABELS
from console.usecases import audit_list
from tests.console import acting
from tests.console.conftest import Queue
from tests.console.test_pages import page_data


def entry(**values: Any) -> AuditEntry:
    days = values.pop("days_ago", 0)
    made = AuditEntry.objects.create(
        **{"username": "ann", "action": "cancel", "topic": "orders", "result": "done", "asked": 1, "done": 1, **values}
    )
    if days:
        AuditEntry.objects.filter(pk=made.pk).update(at=timezone.now() - timedelta(days=days))
    return made


@pytest.fixture
def admin(as_role: Callable[..., Client]) -> Client:
    return as_role("Admin")


def listed(browser: Client, query: str = "") -> list[int]:
    return [each["id"] for each in browser.get(f"/api/v1/audit?{query}").json()["entries"]]


def test_each_filter_lets_through_what_it_says(admin: Client) -> None:
    old = entry(days_ago=3, username="Bob", reason="Sent TWICE")
    drop = entry(action="drop", topic="invoices", result="partly", via="api")
    new = entry()
    everything = [new.pk, drop.pk, old.pk]
    assert listed(admin) == everything
    assert listed(admin, "who=bo") == [old.pk]
    assert listed(admin, "text=twice") == [old.pk]
    assert listed(admin, "action=drop") == [drop.pk]
    assert listed(admin, "topic=orders") == [new.pk, old.pk]
    assert listed(admin, "result=partly") == [drop.pk]
    assert listed(admin, "via=api") == [drop.pk]
    edge_ms = round((timezone.now() - timedelta(days=1)).timestamp() * 1000)
    assert listed(admin, f"since_ms={edge_ms}") == [new.pk, drop.pk]
    assert listed(admin, f"until_ms={edge_ms}") == [old.pk]
    assert listed(admin, "who=nobody") == []
    assert listed(admin, "topic=orders&result=done&who=ann") == [new.pk]


def test_pages_keep_their_place_while_entries_come(admin: Client) -> None:
    ids = [entry().pk for _ in range(7)]
    first = admin.get("/api/v1/audit?limit=3&topic=orders").json()
    entry()
    second = admin.get(f"/api/v1/audit?limit=3&topic=orders&cursor={first['next']}").json()
    third = admin.get(f"/api/v1/audit?limit=3&topic=orders&cursor={second['next']}").json()
    seen = [each["id"] for part in (first, second, third) for each in part["entries"]]
    assert seen == ids[::-1]
    assert third["next"] is None
    assert (first["count"], first["exact"]) == (7, True)


def test_a_large_count_says_that_it_is_not_exact(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_list, "COUNTED_MOST", 3)
    for _ in range(5):
        entry()
    found = admin.get("/api/v1/audit").json()
    assert (found["count"], found["exact"]) == (3, False)


@pytest.mark.parametrize(
    "query",
    [
        "result=great",
        "since_ms=yesterday",
        "since_ms=-5",
        "until_ms=99999999999999999999",
        "since_ms=1e5",
        "who=" + "x" * 151,
        "who=%00",
        "limit=0",
        "limit=many",
        "cursor=abc",
        "cursor=abc.1",
        "cursor=.",
    ],
)
def test_bad_queries_are_refused_in_words(admin: Client, query: str) -> None:
    answer = admin.get(f"/api/v1/audit?{query}")
    assert answer.status_code == 422, answer.content
    assert answer.json()["message"]


def test_a_cursor_of_another_query_is_refused(admin: Client) -> None:
    for _ in range(3):
        entry()
    cursor = admin.get("/api/v1/audit?limit=1&topic=orders").json()["next"]
    assert admin.get(f"/api/v1/audit?limit=1&topic=orders&cursor={cursor}").status_code == 200
    assert admin.get(f"/api/v1/audit?limit=1&topic=other&cursor={cursor}").status_code == 422


def test_an_entry_in_full(admin: Client) -> None:
    made = entry(query={"messages": [[0, "a"]]}, detail={"counts": {"done": 1}}, address="10.0.0.9")
    found = admin.get(f"/api/v1/audit/{made.pk}").json()
    assert (found["query"], found["detail"]["counts"], found["address"]) == (
        {"messages": [[0, "a"]]},
        {"done": 1},
        "10.0.0.9",
    )
    assert admin.get("/api/v1/audit/999999999").status_code == 404
    assert admin.get(f"/api/v1/audit/{10**30}").status_code == 404


@pytest.mark.parametrize("role", ["Viewer", "Operator", "Editor"])
def test_only_those_who_may_see_the_audit_see_it(as_role: Callable[..., Client], role: str) -> None:
    made = entry()
    browser = as_role(role)
    for address in ("/audit/", "/api/v1/audit", f"/api/v1/audit/{made.pk}", "/api/v1/audit/export?form=csv"):
        answer = browser.get(address)
        assert answer.status_code == 403, address
        assert "view_auditentry" in answer.content.decode()


def test_exports_hold_every_entry_and_no_formula(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_list, "EXPORT_AT_ONCE", 2)
    hostile = ['=HYPERLINK("http://x")', "+1", "-1", "@SUM(1)", "\tx", 'a "quoted", line\nand more', "日本"]
    for reason in hostile:
        entry(reason=reason, query={"n": 12345678901234567890})
    entry(topic="other")
    answer = admin.get("/api/v1/audit/export?form=csv&topic=orders")
    assert "attachment" in answer["Content-Disposition"] and answer["X-Content-Type-Options"] == "nosniff"
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert len(rows) == len(hostile)
    assert [row["reason"].removeprefix("'") for row in rows] == hostile[::-1]
    assert not any(value.startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows for value in row.values())
    answer = admin.get("/api/v1/audit/export?form=jsonl")
    lines = [json.loads(line) for line in b"".join(answer.streaming_content).decode().splitlines()]
    assert len(lines) == len(hostile) + 1
    assert lines[1]["query"] == {"n": 12345678901234567890} and lines[1]["reason"] == "日本"
    assert admin.get("/api/v1/audit/export?form=xml").status_code == 422


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.usefixtures("roles_come_back")
async def test_an_export_is_streamed_by_the_asgi_server_too(person: Callable[..., User]) -> None:
    from asgiref.sync import sync_to_async

    user = await sync_to_async(person)("Admin")
    await sync_to_async(entry)(reason="one")
    browser = AsyncClient()
    await browser.aforce_login(user)
    answer = await browser.get("/api/v1/audit/export?form=jsonl")
    pieces = [piece async for piece in answer.streaming_content]
    assert json.loads(b"".join(pieces))["reason"] == "one"


def test_what_people_did_to_a_message_is_known_with_it(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic()
    ref, other = queue.ref(queue.delayed("a")), queue.ref(queue.delayed("b"))
    operator = as_role("Operator")
    for action, messages in (("run_now", [ref]), ("cancel", [ref, other, [0, "gone"]]), ("cancel", [ref])):
        acting.act(operator, action, messages=messages, reason="tidying")
    address = f"/api/v1/topics/orders/biography/a?slot={ref[0]}"
    found = as_role("Viewer").get(address).json()
    assert [(each["action"], each["status"], each["who"]) for each in found["actions"]] == [
        ("cancel", "not_found", "operator"),
        ("cancel", "done", "operator"),
        ("run_now", "done", "operator"),
    ]
    assert found["complete"] and "address" not in found["actions"][0]
    assert operator.get("/api/v1/topics/orders/biography/b").json()["actions"][0]["status"] == "done"
    assert operator.get("/api/v1/topics/other/biography/a").status_code == 404
    wrong_slot = (ref[0] + 1) % 4
    assert operator.get(f"/api/v1/topics/orders/biography/a?slot={wrong_slot}").json()["actions"] == []


def test_who_held_a_message_is_known_with_it(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic()
    for key in ("a", "b"):
        queue.delayed(key)
    operator = as_role("Operator")

    def post(path: str, **body: Any) -> Any:
        answer = operator.post(f"/api/v1/topics/orders/holds{path}", json.dumps(body), content_type="application/json")
        assert answer.status_code == 200, answer.content
        return answer.json()

    (ref,) = [each["ref"] for each in post("", id="a", reason="disputed")["holds"]]
    (other,) = [each["ref"] for each in post("", slot_basis="b", reason="as well")["holds"] if each["ref"] != ref]
    post(f"/{ref}:lift", reason="settled")
    slot = queue.ref("a")[0]
    found = operator.get(f"/api/v1/topics/orders/biography/a?slot={slot}").json()["actions"]
    assert [(each["action"], each["reason"]) for each in found] == [("lift", "settled"), ("hold", "disputed")]
    assert operator.get(f"/api/v1/topics/orders/biography/a?slot={(slot + 1) % 4}").json()["actions"] == []
    (held,) = operator.get("/api/v1/topics/orders/biography/b").json()["actions"]
    assert (held["action"], held["reason"]) == ("hold", "as well")
    post(f"/{other}:lift")


def test_a_long_audit_says_that_not_all_was_looked_at(
    queue: Queue, as_role: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.topic()
    monkeypatch.setattr(audit_list, "LOOKED_AT", 2)
    for _ in range(3):
        entry(query={"messages": [[0, "a"]]})
    found = as_role("Viewer").get("/api/v1/topics/orders/biography/a?slot=0").json()
    assert (len(found["actions"]), found["complete"]) == (2, False)


def test_people_read_what_an_action_is_in_their_language(queue: Queue, as_role: Callable[..., Client]) -> None:
    browser = as_role("Admin")
    for language, archive, nothing in (("en", "archive", "nothing done"), ("zh-hans", "归档", "未执行任何操作")):
        data = page_data(browser.get("/audit/", headers={"accept-language": language}))
        assert ["archive", archive] in data["actions"] and ["nothing", nothing] in data["results"]
    with translation.override("zh-hans"):
        assert all(re.search("[\u4e00-\u9fff]", str(label)) for label in LABELS.values())
