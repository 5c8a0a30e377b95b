"""Recurring messages over REST."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.models import AuditEntry, RecurringMessage
from console.outbox.models import OutboxMessage
from console.usecases import recurring
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue

BODY = {
    "name": "daily", "topic": "orders", "content": '{"a": 1}', "when": "priority", "value": 900, "cron": "0 7 * * *",
    "time_zone": "Europe/Berlin",
}  # fmt: skip


@pytest.fixture
def editor(queue: Queue, caller: Callable[..., Caller]) -> Caller:
    return caller("Editor")


def test_one_is_made_changed_run_disabled_and_deleted(editor: Caller) -> None:
    answer = editor.post("/recurring", BODY | {"reason": "wanted"})
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert answer["Location"] == "/api/v1/recurring/daily"
    assert len(made["upcoming"]) == 5
    assert made["next_ms"] == made["upcoming"][0]
    problem(editor.post("/recurring", BODY), 409, "recurring_exists")
    (listed,) = editor.ok("GET", "/recurring")["recurring"]
    assert (listed["name"], listed["content"], listed["last"]) == ("daily", '{"a": 1}', None)

    changed = editor.ok("PATCH", "/recurring/daily", {"cron": "", "every_ms": 60_000, "misfire": "all"})
    assert (changed["cron"], changed["every_ms"], changed["misfire"]) == ("", 60_000, "all")
    tick = editor.ok("POST", "/recurring/daily:run", {"reason": "now"})
    assert (tick["how"], tick["username"][:5]) == ("by_hand", "token")
    assert OutboxMessage.objects.get(pk=tick["outbox_row"]).topic == "orders"
    assert [each["id"] for each in editor.ok("GET", "/recurring/daily/ticks")["ticks"]] == [tick["id"]]
    assert editor.ok("PATCH", "/recurring/daily", {"enabled": False})["upcoming"] == []

    problem(editor("DELETE", "/recurring/daily"), 422, "invalid")
    assert editor("DELETE", "/recurring/daily?reason=done").status_code == 204
    problem(editor.get("/recurring/daily"), 404, "unknown_recurring")
    actions = AuditEntry.objects.order_by("pk").values_list("action", "result")
    assert [*actions] == [
        ("recurring", "done"), ("recurring", "refused"), ("recurring", "done"), ("run_recurring", "done"),
        ("recurring", "done"), ("recurring", "done"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"cron": "61 * * * *"}, "cron"),
        ({"every_ms": 60_000}, "cron"),
        ({"time_zone": "Mars"}, "time_zone"),
        ({"value": 3}, "content"),
        ({"topic": "a b"}, "topic"),
        ({"misfire": "twice"}, "misfire"),
        ({"content": "a\0b"}, "content"),
        ({"start_ms": 2**52}, "start_ms"),
    ],
)
def test_what_cannot_be_is_named(editor: Caller, changes: dict[str, object], field: str) -> None:
    refused = problem(editor.post("/recurring", BODY | changes), 422, "invalid")
    assert field in refused["fields"][0]["field"]
    assert not RecurringMessage.objects.exists()
    # Nor is it changed to that, also where it stays due when it was.
    assert editor.post("/recurring", BODY).status_code == 201
    refused = problem(editor("PATCH", "/recurring/daily", changes), 422, "invalid")
    assert field in refused["fields"][0]["field"]
    answer = editor.ok("GET", "/recurring/daily")
    assert {name: answer[name] for name in BODY} == BODY
    assert [*AuditEntry.objects.values_list("result", flat=True)] == ["done"]


def test_what_can_be_no_name_is_nobodys(editor: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL refuses to be asked for U+0000, SQLite does not."""
    asked = RecurringMessage.objects.filter

    def refusing(**wanted: object) -> object:
        assert "\0" not in str(wanted.get("name"))
        return asked(**wanted)

    monkeypatch.setattr(RecurringMessage.objects, "filter", refusing)
    problem(editor.post("/recurring", BODY | {"name": "a\0"}), 422, "invalid")
    for name in ("a%00b", "a%0Ab", "%E2%80%AE"):
        problem(editor.get(f"/recurring/{name}"), 404, "unknown_recurring")
        problem(editor.get(f"/recurring/{name}/ticks"), 404, "unknown_recurring")
        problem(editor.post(f"/recurring/{name}:run", {}), 404, "unknown_recurring")
        problem(editor("PATCH", f"/recurring/{name}", {"enabled": False}), 404, "unknown_recurring")
        problem(editor("DELETE", f"/recurring/{name}?reason=x"), 404, "unknown_recurring")


def test_pages_of_ticks(editor: Caller) -> None:
    editor.post("/recurring", BODY)
    made = [editor.ok("POST", "/recurring/daily:run", {})["id"] for _ in range(3)]
    first = editor.ok("GET", "/recurring/daily/ticks?limit=2")
    rest = editor.ok("GET", f"/recurring/daily/ticks?limit=2&cursor={first['next']}")
    assert [each["id"] for each in first["ticks"] + rest["ticks"]] == made[::-1]
    assert rest["next"] is None


def test_what_code_defines_can_only_be_disabled(editor: Caller) -> None:
    editor.post("/recurring", BODY)
    RecurringMessage.objects.update(origin="code")
    problem(editor("PATCH", "/recurring/daily", {"value": 500}), 422, "bad_request")
    problem(editor("DELETE", "/recurring/daily?reason=x"), 422, "bad_request")
    assert editor.ok("PATCH", "/recurring/daily", {"enabled": False})["enabled"] is False


def test_a_token_for_some_topics_sees_and_defines_theirs(editor: Caller, caller: Callable[..., Caller]) -> None:
    editor.post("/recurring", BODY)
    scoped = caller("Editor", topics="mail")
    assert scoped.ok("GET", "/recurring")["recurring"] == []
    problem(scoped.get("/recurring/daily"), 404, "unknown_recurring")
    problem(scoped.post("/recurring", BODY | {"name": "other"}), 403, "out_of_scope")
    assert scoped.post("/recurring", BODY | {"name": "other", "topic": "mail"}).status_code == 201
    problem(scoped("PATCH", "/recurring/other", {"topic": "orders"}), 403, "out_of_scope")
    assert caller("Viewer").ok("GET", "/recurring/daily")["content"] is None


def test_pages_of_definitions(editor: Caller) -> None:
    for name in "cab":
        editor.post("/recurring", BODY | {"name": name})
    tick = editor.ok("POST", "/recurring/a:run", {})
    first = editor.ok("GET", "/recurring?limit=2")
    rest = editor.ok("GET", f"/recurring?limit=2&cursor={first['next']}")
    assert [each["name"] for each in first["recurring"] + rest["recurring"]] == ["a", "b", "c"]
    assert rest["next"] is None
    assert [each["last"] for each in first["recurring"]] == [tick, None]
    assert editor("DELETE", "/recurring/b?reason=over").status_code == 204
    rest = editor.ok("GET", f"/recurring?limit=2&cursor={first['next']}")
    assert [each["name"] for each in rest["recurring"]] == ["c"], "nothing comes twice where the last one is gone"


def test_one_that_is_gone_sends_no_more(editor: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    editor.post("/recurring", BODY)
    read = RecurringMessage.objects.get()
    editor("DELETE", "/recurring/daily?reason=over")
    monkeypatch.setattr(recurring, "find", lambda user, name: read)  # by whoever read it before it went
    for method, path in (("POST", ":run"), ("DELETE", "?reason=over")):
        problem(editor(method, f"/recurring/daily{path}"), 404, "unknown_recurring")
    problem(editor("PATCH", "/recurring/daily", {"enabled": False}), 404, "unknown_recurring")
    assert not OutboxMessage.objects.exists() and not AuditEntry.objects.filter(result="started").exists()


def test_pages_for_some_topics_hold_theirs_alone(editor: Caller, caller: Callable[..., Caller]) -> None:
    for name in "abcdef":
        editor.post("/recurring", BODY | {"name": name, "topic": "mail" if name in "bdf" else "orders"})
    scoped = caller("Viewer", topics="mail")
    first = scoped.ok("GET", "/recurring?limit=2")
    rest = scoped.ok("GET", f"/recurring?limit=2&cursor={first['next']}")
    assert [[each["name"] for each in page["recurring"]] for page in (first, rest)] == [["b", "d"], ["f"]]
    mark = first["next"].partition(".")[2]
    for made_up in ("", "zz", "00", "ff", "e9", "20" * 500, "7"):
        problem(scoped.get(f"/recurring?cursor={made_up}.{mark}"), 422, "invalid")


def test_what_messages_say_of_themselves_is_taken_back(editor: Caller) -> None:
    editor.post("/recurring", {**BODY, "expires_ms": 5_000, "unique_for_ms": 7_000})
    changed = editor.ok("PATCH", "/recurring/daily", {"expires_ms": None, "unique_for_ms": None})
    assert (changed["expires_ms"], changed["unique_for_ms"]) == (None, None)


def test_no_tick_comes_between_a_history_and_its_end(editor: Caller) -> None:
    """Of PostgreSQL: a tick that is written while its definition goes would be of nothing, and fail the deletion."""
    editor.post("/recurring", BODY)
    with CaptureQueriesContext(connection) as found:
        assert editor("DELETE", "/recurring/daily?reason=over").status_code == 204
    said = [query["sql"] for query in found]
    locked = next(at for at, sql in enumerate(said) if sql.startswith('UPDATE "console_recurringmessage"'))
    assert not any("console_recurringtick" in sql for sql in said[:locked])
    begun = max(at for at, sql in enumerate(said[:locked]) if sql.startswith(("BEGIN", "SAVEPOINT")))
    assert not any(sql.startswith(("COMMIT", "RELEASE")) for sql in said[begun : locked + 1])


def test_one_that_can_no_longer_be_is_not_enabled(editor: Caller) -> None:
    """Its time zone is gone, say: that is said, and noted as refused."""
    editor.post("/recurring", {**BODY, "enabled": False})
    RecurringMessage.objects.update(time_zone="Europe/Gone")
    problem(editor("PATCH", "/recurring/daily", {"enabled": True}), 422, "invalid")
    assert AuditEntry.objects.filter(result="started").count() == 0


def test_one_that_was_made_anew_is_not_the_one_that_was_seen(editor: Caller) -> None:
    editor.ok("POST", "/recurring", BODY, 201)
    (seen,) = editor.ok("GET", "/recurring")["recurring"]
    assert seen["etag"] == editor.get("/recurring/daily")["ETag"]
    editor.ok("POST", "/recurring/daily:run", {}, If_Match=seen["etag"])
    editor.ok("POST", "/recurring/daily:run", {}, If_Match=seen["etag"])  # what it did is no change of it
    assert editor("DELETE", "/recurring/daily?reason=old").status_code == 204
    editor.ok("POST", "/recurring", BODY | {"content": "another"}, 201)
    problem(editor("POST", "/recurring/daily:run", {}, If_Match=seen["etag"]), 412, "changed_meanwhile")
    problem(editor("DELETE", "/recurring/daily?reason=old", If_Match=seen["etag"]), 412, "changed_meanwhile")
    assert editor.ok("GET", "/recurring/daily/ticks")["ticks"] == []
    now = editor.get("/recurring/daily")["ETag"]
    assert editor("DELETE", "/recurring/daily?reason=new", If_Match=now).status_code == 204
