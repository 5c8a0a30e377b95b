"""Pages, and what the browser asks the API for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from console.options import options
from console.snapshots.store import LiveKeys, write_frames
from rmq_core import PriorityMessage, TopicKind
from tests.console.conftest import Queue
from tests.support.console_options import set_options


@pytest.fixture
def browser(as_role: Callable[..., Client]) -> Client:
    return as_role("Operator")


def page_data(answer: Any) -> dict[str, Any]:
    text = answer.content.decode()
    start = text.index(">", text.index('id="page-data"')) + 1
    return json.loads(text[start : text.index("</script>", start)])


def test_the_overview_opens_with_the_newest_frame(queue: Queue, browser: Client, settings: Any) -> None:
    assert page_data(browser.get("/"))["frame"] is None
    keys = LiveKeys(options().namespace)
    queue.client.run(write_frames({keys.overview: '{"type":"overview","topics":[]}'}, 7))
    assert page_data(browser.get("/"))["frame"] == {"type": "overview", "topics": []}


def test_pages_say_when_redis_is_away(browser: Client, settings: Any) -> None:
    set_options(settings, REDIS_URL="redis://127.0.0.1:1/0")
    overview = browser.get("/")
    assert overview.status_code == 200
    assert "did not answer" in page_data(overview)["problem"]
    topic = browser.get("/topics/orders/")
    assert topic.status_code == 503
    assert "Redis does not answer" in topic.content.decode()
    rows = browser.get("/api/v1/topics/orders/messages")
    assert (rows.status_code, rows.json()["code"]) == (503, "connection_lost")


def test_a_namespace_of_another_format_is_shown_in_words(queue: Queue, browser: Client) -> None:
    queue.topic()
    connection, key = queue.client.connection, queue.client.keyspace.format
    connection.run([("SET", key, "2")])
    try:
        queue.client.forget("orders")
        answer = browser.get("/topics/orders/")
    finally:
        connection.run([("DEL", key)])
    text = answer.content.decode()
    assert answer.status_code == 503 and "Redis does not answer" not in text
    assert "Redis cannot be used as it is" in text and "is in format 2" in text


def test_an_unknown_topic_or_message_is_not_found_in_words(queue: Queue, browser: Client) -> None:
    assert browser.get("/topics/nosuch/").status_code == 404
    assert browser.get("/api/v1/topics/nosuch/messages").json()["code"] == "unknown_topic"
    queue.topic()
    assert browser.get("/topics/orders/message/?id=nosuch").status_code == 404
    assert browser.get("/api/v1/topics/orders/content/nosuch").status_code == 404
    assert browser.get("/topics/9bad/").status_code == 404


def test_a_topic_page_carries_its_addresses_and_grants(queue: Queue, browser: Client) -> None:
    queue.topic(description="what people <b>buy</b>")
    answer = browser.get("/topics/orders/")
    data = page_data(answer)
    assert data["topic"]["name"] == "orders"
    assert data["socket"] == "live/topics/orders/"
    assert data["grants"]["actions"]["drop"] is not None
    assert "<b>buy</b>" not in answer.content.decode()


def test_a_topic_page_opens_with_its_problems(queue: Queue, browser: Client) -> None:
    queue.topic()
    assert page_data(browser.get("/topics/orders/"))["problems"] == []
    several = [{"topic": name, "code": "dead"} for name in ("orders", "orders2", None)]
    text = json.dumps({"type": "overview", "at_ms": 12, "topics": [], "problems": several})
    queue.client.run(write_frames({LiveKeys(options().namespace).overview: text}, 7))
    data = page_data(browser.get("/topics/orders/messages/"))
    assert (data["problems"], data["problems_at_ms"]) == (several[:1], 12)


def test_a_page_loaded_anew_shows_the_topic_that_is_there_now(queue: Queue, browser: Client) -> None:
    queue.topic()
    assert page_data(browser.get("/topics/orders/"))["topic"]["kind"] == "fixed-time"
    queue.control.delete_topic("orders", force=True)
    queue.topic("orders", TopicKind.PRIORITY)
    assert page_data(browser.get("/topics/orders/"))["topic"]["kind"] == "priority"


def test_rows_are_paged_by_cursor_in_both_orders(queue: Queue, browser: Client) -> None:
    queue.topic()
    for n in range(12):
        queue.delayed(f"m{n:02}", in_ms=600_000 + n * 1000)
    address = "/api/v1/topics/orders/messages?state=delayed&limit=5"
    seen: list[str] = []
    cursor = ""
    while cursor is not None:
        page = browser.get(address, {"state": "delayed", "limit": 5, "cursor": cursor}).json()
        seen += [row["id"] for row in page["rows"]]
        cursor = page["next"]
    assert seen == [f"m{n:02}" for n in range(12)]
    newest = browser.get(address + "&order=newest").json()
    assert [row["id"] for row in newest["rows"]] == [f"m{n:02}" for n in range(11, 6, -1)]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("state=gone", "state"),
        ("limit=0", "limit"),
        ("limit=100000", "limit"),
        ("limit=x", "limit"),
        ("slot=4", "slot"),
        ("slot=-1", "slot"),
        ("cursor=rubbish", "cursor"),
        ("cursor=" + "x" * 9000, "cursor"),
    ],
)
def test_bad_queries_are_refused_in_words(queue: Queue, browser: Client, query: str, words: str) -> None:
    queue.topic()
    answer = browser.get(f"/api/v1/topics/orders/messages?{query}")
    assert answer.status_code == 422, answer.content
    assert words in answer.json()["message"]


def test_find_shows_content_headers_and_failure(queue: Queue, browser: Client) -> None:
    queue.topic()
    ident = queue.dead("x", content='{"big": 12345678901234567890}')
    (found,) = browser.get("/api/v1/topics/orders/messages:find", {"id": ident}).json()["messages"]
    assert found["state"] == "dead"
    assert found["content"] == '{"big": 12345678901234567890}'
    assert (found["failure"]["error"], found["failure"]["failures"]) == ("KeyError", 1)
    assert browser.get("/api/v1/topics/orders/messages:find").status_code == 422
    assert browser.get("/api/v1/topics/orders/messages:find", {"id": "%zz"}).status_code == 422


def test_search_goes_step_by_step_and_says_how_far_it_is(
    queue: Queue, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.api.messages.searching.SCAN", 10)
    queue.topic()
    for n in range(25):
        queue.delayed(f"m{n:02}", content="needle" if n == 20 else "hay")
    query: dict[str, Any] = {"state": "delayed", "text": "needle"}
    first = browser.get("/api/v1/topics/orders/messages:search", query).json()
    assert (first["looked_at"], first["total"], first["rows"]) == (10, 25, [])
    found: list[str] = []
    step = first
    while step["next"]:
        step = browser.get("/api/v1/topics/orders/messages:search", query | {"cursor": step["next"]}).json()
        found += [row["id"] for row in step["rows"]]
    assert found == ["m20"]
    assert step["looked_at"] == 25


def test_a_slot_shows_its_ledger_and_heads(queue: Queue, browser: Client) -> None:
    queue.topic("jobs", TopicKind.PRIORITY, slots=1)
    for n in range(3):
        queue.client.send("jobs", PriorityMessage(f"j{n}", 20 + n))
    (held,) = queue.client.take("jobs")
    slot = browser.get("/api/v1/topics/jobs/slots/0").json()
    assert [row["id"] for row in slot["next"]] == ["j1", "j0"]
    assert [row["id"] for row in slot["prepared"]] == ["j2"]
    assert slot["ledger_gap"] == 0
    assert slot["counters"]["sent"] == 3
    assert (slot["owner"], slot["epoch"]) == (None, None)
    queue.client.ack(held)
    assert browser.get("/api/v1/topics/jobs/slots/1").status_code == 422


def test_a_download_is_a_file_and_nothing_a_browser_would_run(queue: Queue, browser: Client) -> None:
    queue.topic()
    ident = queue.delayed('a"\r\nX: y', content="<script>alert(1)</script>")
    answer = browser.get(f"/api/v1/topics/orders/content/{quote(ident, safe='')}")
    assert answer.content == b"<script>alert(1)</script>"
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"].startswith("attachment; filename=")
    assert "\n" not in answer["Content-Disposition"]
    assert "sandbox" in answer["Content-Security-Policy"]


def test_every_answer_forbids_inline_scripts(queue: Queue, browser: Client) -> None:
    policy = browser.get("/")["Content-Security-Policy"]
    assert "script-src 'self' 'unsafe-eval'" in policy
    assert "object-src 'none'" in policy and "frame-ancestors 'none'" in policy


def test_content_cannot_break_out_of_the_page(queue: Queue, browser: Client) -> None:
    queue.topic()
    ident = queue.delayed("k", content="</script><script>alert(1)</script>")
    text = browser.get("/topics/orders/message/", {"id": ident}).content.decode()
    assert "<script>alert(1)" not in text


def test_the_command_palette_finds_pages_and_topics(queue: Queue, browser: Client) -> None:
    queue.topic()
    text = browser.get("/admin/search/", {"s": "ord", "extended": 1}).content.decode()
    assert "/topics/orders/" in text


def test_a_mistyped_topic_leads_to_those_of_a_similar_name(queue: Queue, as_role: Callable[..., Client]) -> None:
    for name in ("orders", "orders.late", "mail"):
        queue.topic(name)
    answer = as_role("Viewer").get("/topics/oders/dead/")
    page = answer.content.decode()
    assert answer.status_code == 404 and 'href="/topics/orders/"' in page and 'href="/topics/mail/"' not in page
    # In words for whoever follows a link, and by the name as it is written: a title begins with a capital.
    assert "client.define" not in page and "There is nothing of this name" in page and "Topic oders" in page
