"""Messages with texts that cannot be written as UTF-8, as older releases let them in: shown, exported, taken."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.test import Client

from tests.console.api.conftest import Caller, make_token
from tests.console.conftest import Queue

BODY = (
    b'0 25 {"a":"\\ud800","b\\udfff":"c"}'.replace(b"25", str(len(b'{"a":"\\ud800","b\\udfff":"c"}')).encode())
    + b"x" * 100
)


@pytest.fixture
def stage(queue: Queue) -> Queue:
    queue.topic(slots=1)
    for state in ("dead", "ready"):
        ident = queue.dead(state, error="E\ud800"[:1]) if state == "dead" else queue.delayed(state, in_ms=0)
        keys = queue.client.keyspace.slot("orders", 0)
        queue.client.connection.run([("HDEL", keys.dead_record, ident), ("HSET", keys.body, ident, BODY)])
    return queue


def test_odd_headers_break_nothing(stage: Queue, as_role: Callable[..., Client]) -> None:
    browser, ask = as_role("Admin"), Caller(*make_token("Admin"))
    for path in (
        "/topics/orders/messages/dead",
        "/topics/orders/messages/ready",
        "/topics/orders/dead",
        "/topics/orders/messages",
    ):
        assert ask.get(path).status_code == 200, path
    assert ask.ok("GET", "/topics/orders/messages/ready")["messages"][0]["headers"] == {"a": "\\ud800", "b\\udfff": "c"}
    for page in ("message/?id=ready", "message/?id=dead", "dead/"):
        assert browser.get(f"/topics/orders/{page}").status_code == 200, page
    for form in ("jsonl", "csv"):
        answer = browser.get(f"/api/v1/topics/orders/dead:export?form={form}")
        text = b"".join(answer.streaming_content).decode()
        assert "ud800" in text
        if form == "jsonl":
            assert json.loads(text)["id"] == "dead"
    taken = ask.ok("POST", "/topics/orders:take", {"wait_ms": 1000})["deliveries"]
    assert [each["id"] for each in taken] == ["ready"]


def test_nothing_of_the_kind_is_let_in(stage: Queue, db: None) -> None:
    ask = Caller(*make_token("Admin"))
    for field in (
        '"headers":{"a":"\\ud800"}',
        '"headers":{"\\ud800":"a"}',
        '"key":"\\ud800"',
        '"slot_basis":"\\ud800"',
    ):
        answer = ask.post("/topics/orders/messages", f'{{"content":"a","delay_ms":0,{field}}}'.encode())
        assert answer.status_code == 422, field
