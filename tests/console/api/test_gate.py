"""What every request goes through: who calls, one form for refusals, request ids, size limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client, RequestFactory
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from console.access import Permission, allowed
from console.api.handler import Handler
from console.api.http.callers import still_there
from console.api.http.errors import ApiError
from console.models import ApiToken
from console.usecases import tokens
from tests.console.api.conftest import BASE, Caller, problem
from tests.console.conftest import Queue
from tests.support.console_options import set_options
from tests.support.waiting import PATIENCE_S


def test_without_credentials_nothing_is_open_but_health(queue: Queue, db: None) -> None:
    outsider = Caller()
    for path in ("/me", "/topics", "/metrics", "/openapi.json", "/nowhere", "/topics/orders:take"):
        answer = outsider.get(path)
        problem(answer, 401, "unauthorized")
        assert answer["WWW-Authenticate"].startswith("Bearer")
    assert outsider.get("/health/live").status_code == 200
    assert "/admin/login/" in outsider.get("/docs")["Location"]


def test_a_token_is_known_by_its_digest_alone(queue: Queue, operator: Caller) -> None:
    assert operator.ok("GET", "/me")["role"] == "Operator"
    stored = json.dumps([str(value) for value in ApiToken.objects.values_list()])
    assert operator.secret and operator.secret not in stored
    assert operator.secret.split("_", 2)[2] not in stored


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("Bearer", "invalid_token"),
        ("Bearer ", "invalid_token"),
        ("Basic YTpi", "invalid_token"),
        ("Bearer rmq_00000000_guess", "invalid_token"),
        ("Bearer \u00ff\u00fe", "invalid_token"),
        ("Bearer " + "x" * 5_000, "invalid_token"),
    ],
)
def test_what_is_no_token_is_refused(queue: Queue, db: None, header: str, code: str) -> None:
    problem(Caller().get("/me", Authorization=header), 401, code)


def test_expired_and_revoked_tokens_say_so(queue: Queue, caller: Callable[..., Caller]) -> None:
    expired = caller("Admin", expires_at=timezone.now() - timedelta(seconds=1))
    problem(expired.get("/me"), 401, "token_expired")
    revoked = caller("Admin")
    assert revoked.get("/me").status_code == 200
    assert revoked.token and tokens.revoke(revoked.token)
    assert not tokens.revoke(revoked.token)
    problem(revoked.get("/me"), 401, "token_revoked")


def test_a_bad_token_is_not_made_good_by_a_session(queue: Queue, as_role: Callable[..., Client]) -> None:
    browser = as_role("Admin")
    assert browser.get(f"{BASE}/me").status_code == 200
    assert browser.get(f"{BASE}/me", headers={"Authorization": "Bearer no"}).status_code == 401


def test_last_use_is_noted(queue: Queue, operator: Caller) -> None:
    token = operator.token
    assert token and token.last_used_at is None
    operator.get("/me")
    token.refresh_from_db()
    assert token.last_used_at is not None and token.last_used_from == "127.0.0.1"
    first = token.last_used_at
    operator.get("/me")
    token.refresh_from_db()
    assert token.last_used_at == first  # once a minute is enough


def test_a_session_needs_the_csrf_token_to_change_something(queue: Queue, person: Callable[..., User]) -> None:
    queue.topic()
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(person("Operator"))
    assert browser.get(f"{BASE}/topics/orders").status_code == 200
    answer = browser.post(f"{BASE}/topics/orders:pause", b"{}", content_type="application/json")
    problem(answer, 403, "csrf")
    assert not queue.client.topic("orders").paused
    browser.get("/topics/orders/")
    csrf = browser.cookies["rmq_csrf"].value
    headers = {"X-CSRFToken": csrf}
    answer = browser.post(f"{BASE}/topics/orders:pause", b"{}", content_type="application/json", headers=headers)
    assert answer.status_code == 200, answer.content


def test_a_form_without_a_token_is_a_refusal_not_a_failure(queue: Queue, person: Callable[..., User]) -> None:
    queue.topic()
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(person("Operator"))
    problem(browser.post(f"{BASE}/topics/orders:pause", {"a": "b"}), 403, "csrf")


def test_tokens_stay_inside_their_topics(queue: Queue, caller: Callable[..., Caller]) -> None:
    for name in ("orders.new", "orders.old", "billing"):
        queue.topic(name)
    scoped = caller("Admin", topics="orders.*, exact")
    assert [each["name"] for each in scoped.ok("GET", "/topics")["topics"]] == ["orders.new", "orders.old"]
    assert scoped.get("/topics/orders.new").status_code == 200
    for method, path, body in (
        ("GET", "/topics/billing", None),
        ("GET", "/topics/never-defined", None),
        ("GET", "/topics/billing/messages", None),
        ("POST", "/topics/billing:pause", {}),
        ("POST", "/topics/billing:take", {}),
        ("POST", "/topics/billing/messages", {"content": "a", "delay_ms": 1}),
        ("POST", "/workers/w1:drain", {"reason": "x"}),
    ):
        problem(scoped(method, path, body), 403, "out_of_scope")
    assert scoped.ok("GET", "/audit")["entries"] == []  # what was refused there is not theirs to read
    assert not queue.client.topic("billing").paused


def test_request_ids_are_taken_over_or_made(queue: Queue, operator: Caller) -> None:
    assert operator.get("/me", X_Request_Id="abc-1.2_3")["X-Request-Id"] == "abc-1.2_3"
    for hostile in ("a b", "x" * 65, "<script>", ""):
        given = operator.get("/me", X_Request_Id=hostile)["X-Request-Id"]
        assert given != hostile and len(given) == 32


def test_every_refusal_has_the_same_form(queue: Queue, operator: Caller) -> None:
    queue.topic()
    problem(operator.get("/nowhere"), 404, "not_found")
    problem(operator.get("/topics/1bad"), 404, "not_found")
    problem(operator.get("/topics/nosuch"), 404, "unknown_topic")
    problem(operator.get("/"), 404, "not_found")
    answer = operator("PATCH", "/topics/orders")
    assert "PATCH" in problem(answer, 405, "method_not_allowed")["message"]
    assert "GET" in answer["Allow"]
    found = problem(operator.get("/topics/orders/messages?limit=0&state=nosuch"), 422, "invalid")
    assert {each["field"] for each in found["fields"]} == {"limit", "state"}
    found = problem(operator.post("/topics/orders/messages", {"messages": [{"content": 1}]}), 422, "invalid")
    assert "messages.0.content" in {each["field"] for each in found["fields"]}
    for body in (b"{", b"\xff", b"[" * 100_000, b"nul"):
        problem(operator.post("/topics/orders/messages", body), 422, "invalid")
    for body in (b"[]", b'"x"', b"1", b"null", b""):
        problem(operator.post("/topics/orders/messages", body), 422, "invalid")


def test_an_error_nobody_expected_tells_nothing_but_its_id(
    queue: Queue, operator: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr("console.api.me.allowed", fail)
    answer = operator.get("/me")
    found = problem(answer, 500, "internal")
    assert "hunter2" not in answer.content.decode()
    assert found["request_id"] in caplog.text and "hunter2" in caplog.text


def test_redis_away_is_said_and_when_to_come_back(settings: Any, db: None, caller: Callable[..., Caller]) -> None:
    set_options(settings, REDIS_URL="redis://127.0.0.1:1/0")
    answer = caller("Viewer").get("/topics")
    problem(answer, 503, "connection_lost")
    assert answer["Retry-After"] == "1"


def test_a_database_that_takes_nothing_is_said_and_nothing_is_done(
    queue: Queue, operator: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    """As on a full disk. What cannot be written down in the audit does not happen."""
    queue.topic()
    if connection.vendor != "sqlite":
        pytest.skip("a database that refuses to write is made with SQLite")
    connection.ensure_connection()
    connection.connection.execute("PRAGMA query_only = ON")
    try:
        assert operator.get("/topics").status_code == 200
        answer = operator.post("/topics/orders:pause", {"reason": "r"})
        problem(answer, 503, "database_unavailable")
    finally:
        connection.connection.execute("PRAGMA query_only = OFF")
    assert answer["Retry-After"] == "1"
    assert "readonly database" not in answer.content.decode() and "readonly database" in caplog.text
    assert not queue.client.topic("orders").paused


def test_bodies_have_a_limit(queue: Queue, operator: Caller, settings: Any) -> None:
    queue.topic()
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
    problem(operator.post("/topics/orders/messages", {"content": "x" * 1_000, "delay_ms": 1}), 413, "body_too_large")


async def _send(headers: list[tuple[bytes, bytes]], chunks: list[bytes]) -> tuple[int, dict[str, Any]]:
    scope = {"type": "http", "method": "POST", "path": f"{BASE}/topics/orders/messages", "query_string": b""}
    application = ApplicationCommunicator(Handler(), {**scope, "headers": headers})
    for number, chunk in enumerate(chunks):
        more = number < len(chunks) - 1
        await application.send_input({"type": "http.request", "body": chunk, "more_body": more})
    start = await application.receive_output(PATIENCE_S)
    body = await application.receive_output(PATIENCE_S)
    await application.wait(PATIENCE_S)
    return start["status"], json.loads(body["body"])


async def test_a_body_that_is_too_long_is_not_even_read(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
    status, found = await _send([(b"content-length", b"1001")], [])
    assert (status, found["code"]) == (413, "body_too_large")


async def test_a_body_of_unknown_length_is_read_to_the_limit_only(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
    status, found = await _send([], [b"x" * 600, b"x" * 600, b"never read"])
    assert (status, found["code"]) == (413, "body_too_large")


def test_a_session_that_has_ended_meanwhile_is_noticed(
    queue: Queue, person: Callable[..., User], rf: RequestFactory
) -> None:
    def request_of(browser: Client, user: User) -> Any:
        request = rf.get(f"{BASE}/me")
        request.session = browser.session
        request.user = SimpleLazyObject(lambda: user)
        return request

    user = person("Operator")
    browser = Client()
    browser.force_login(user)
    request = request_of(browser, user)
    assert still_there(request).user == user
    user.groups.clear()
    assert not allowed(still_there(request).user, Permission.VIEW)
    User.objects.update(is_active=False)
    with pytest.raises(ApiError, match="signed out"):
        still_there(request)
    User.objects.update(is_active=True)
    browser.logout()
    with pytest.raises(ApiError, match="signed out"):
        still_there(request)


def test_tags_are_compared_and_listed_by_rfc_9110(queue: Queue, operator: Caller) -> None:
    """Reading looks past the mark of a weak tag; an element of a list that is left empty is none."""
    queue.topic()
    weak = operator.get("/me")["ETag"]
    strong = weak.removeprefix("W/")
    assert weak != strong
    for given in (weak, strong, f'"x", {strong}', f", ,{weak} ,", '"a,b",' + weak, "*"):
        assert operator.get("/me", If_None_Match=given).status_code == 304, given
    for given in ('"x"', strong.replace('"', ""), ""):
        assert operator.get("/me", If_None_Match=given).status_code == 200, given
    version = operator.get("/topics/orders")["ETag"]
    for given in (f",{version}", f'"x",, {version},'):
        assert operator.get("/topics/orders", If_None_Match=given).status_code == 304, given
    assert operator.get("/topics/orders", If_None_Match=",").status_code == 422
