"""Every page of the console, with all it opens, in Chinese: no English is left over, and every action can be copied."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from console.alerts.defaults import DEFAULTS
from console.snapshots.store import LiveKeys, read_frame
from rmq_core import RMQ, PriorityMessage, Route, TopicKind
from rmq_core.model.route import Target
from tests.console.browser import walking
from tests.console.browser.conftest import forgive, make_people
from tests.console.browser.walking import Walk
from tests.console.conftest import Queue
from tests.console.scope.test_pages import PAGES
from tests.console.stack import Stack
from tests.support.waiting import wait_until

Open = Callable[..., Page]
ROWS = Path(__file__).with_name("chinese_rows.py")
CHINESE = {"locale": "zh-CN"}
ADDRESSES: dict[str, list[str]] = {
    "overview": ["/", "/?q=@", "/?q=zz&group=yes"],
    "topic": ["/topics/zz-times/", "/topics/zz-ranks/", "/topics/zz-stream/", "/topics/zz-stream@zz-mail/"],
    "topic-tab": [
        *(f"/topics/zz-times/{tab}/" for tab in ("messages", "dead", "slots", "trends", "definition")),
        *(f"/topics/zz-stream/{tab}/" for tab in ("messages", "groups", "definition")),
        "/topics/zz-ranks/messages/?state=ready",
        "/topics/zz-stream/groups/?group=zz-mail",
    ],
    "send": ["/topics/zz-times/send/", "/topics/zz-ranks/send/", "/topics/zz-stream/send/"],
    "message": ["/topics/zz-times/message/?id=zz-a", "/topics/zz-times/message/?id=zz-d"],
    "define": ["/define/"],
    "audit": ["/audit/"],
    "workers": ["/workers/"],
    "routes": ["/routes/"],
    "dead": ["/dead/"],
    "operations": ["/operations/"],
    "operation": ["/operations/{operation}/", "/operations/{stopped}/"],
    "reconciliation": ["/reconciliation/"],
    "run": ["/reconciliation/{run}/", "/reconciliation/{running}/"],
    "recurring": ["/recurring/"],
    "alerts": ["/alerts/", "/alerts/?state=resolved"],
    "screens": ["/screens/"],
    "screen": ["/screens/of/zz-wall/"],
    "preferences": ["/preferences/"],
    "outbox": ["/outbox/", "/outbox/?state=parked"],
}
SAME_AS = {"screen-by-link": "screen"}
NO_PAGE = {"texts"}
NEED_ROWS = {"topic", "topic-tab", "send", "message", "operation", "run", "screen"}
NOT_COPIED = {
    "c 收藏：#": "of whoever is signed in; a token has its own",
    "p 保存": "of whoever is signed in; a token has its own",
    "p send立即发送第一条消息": "two requests; the code for both stands below the button",
}
"""Buttons, and why there is no request to copy beside them."""
# What is the same in both languages: names of products, formats and units, and of what the glossary keeps.
KEPT = {
    *("RMQ", "Console", "Redis", "Valkey", "ZooKeeper", "Spark", "Python", "curl", "Webhook", "Apprise", "English"),
    *("API", "REST", "JSON", "Lines", "CSV", "UTC", "ID", "id", "cron", "keeper", "Ctrl"),
    *("ms", "min", "KiB", "MiB", "GiB", "base", "pid"),
    *("admin", "default"),
}
WORD = re.compile(r"[A-Za-z]{2,}")
DATA = re.compile(r"zz[\w.@:/-]*|\b[0-9a-f]{8,32}\b", re.I | re.ASCII)
CODE = (
    "pip install rmq-console", "hello.py", "“hello”", "make demo", "rmq worker module:attribute", "manage.py worker",
    "manage.py prepare",
    "acme=held, globex=10/s, initech=3 at once", "held：", "acme=3, globex=10", "header:", "key:", "{header.NAME}",
    "event=final|boarding, gate=A 12", "event=final|boarding", "order.total > 100", "输入 erase",
    "“full”", 'acks="none"',
    "content、key、slot_basis、headers、version、expires_ms、unique_for_ms、tenant",
    "content 或 fields、slot_basis、headers、id",
)  # fmt: skip
"""In examples, as it is typed."""
RULES = tuple(each[0] for each in DEFAULTS)
SAID = (
    "content: content must not be empty, unless there are fields", "content: content must not be empty",
    "the connection failed (gaierror)",
)  # fmt: skip
"""By the engine, and of other machines: the same in every language."""


def left_over(texts: set[str]) -> set[str]:
    """Those in which an English word stands that is no name."""
    return {each for each in texts if set(WORD.findall(without_data(each))) - KEPT}


def without_data(text: str) -> str:
    for code in (*CODE, *RULES, *SAID):
        text = text.replace(code, "")
    return DATA.sub("", text)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("chinese") / "data", "--shared") as stack:
        make_people(stack)
        yield stack


@pytest.fixture(scope="module")
def filled(stack: Stack) -> Iterator[dict[str, str]]:
    """Something of every kind; the keys of what has a page of its own."""
    with stack.client() as client:
        queue = Queue(client)
        queue.topic("zz-times", visibility_timeout_ms=3_600_000)
        queue.topic("zz-ranks", TopicKind.PRIORITY, fair=True, tenant_from="key:-", max_retries=1)
        queue.topic("zz-paused", TopicKind.RANGE_MERGE)
        queue.control.pause("zz-paused")
        queue.topic("zz-stream", TopicKind.STREAM, slots=2)
        client.define_group("zz-stream", "zz-mail")
        client.define_group("zz-stream", "zz-paused")
        queue.control.pause("zz-stream@zz-paused")
        targets = (Target("zz-ranks", priority=20), Target("zz-stream"))
        client.define_route(Route("zz-route", "zz-paused", targets, paused=True))
        for number in range(3):
            queue.delayed(f"zz-a{number or ''}", topic="zz-times", content='{"zz": 1}')
            client.send("zz-stream", "zz-content")
            client.send_many("zz-ranks", [PriorityMessage("zz", 20 + number, key=f"zz-{number}")])
        for key in ("zz-d", "zz-flying"):
            client.send("zz-times", '{"zz": 1}', in_ms=0, key=key)
            (delivery,) = client.take("zz-times", timeout_ms=2_000)
            if key == "zz-d":
                client.nack(delivery, error="zzError", message="zz-words")
        queue.control.cancel("zz-times", ["zz-a2"])
        wait_until(lambda: "zz-times" in overview(client), what="the keeper knows the topic")
        client.send("zz-times", '{"zz": 1}', in_ms=0, key="zz-e")
        client.nack(client.take("zz-times", timeout_ms=2_000), error="zzError", message="zz-words")
        wait_until(lambda: "dead_growing" in overview(client), what="there are more than before")
        rows: dict[str, str] = json.loads(stack.manage(ROWS.read_text()))
        queue.worker(
            "zz-worker", host="zz-host", topics=["zz-times"], versions={"zz-times": 1}, at_most_once=["zz-times"]
        )
        queue.worker("zz-drained", host="zz-host", topics=["zz-ranks"], state="draining", stuck=1)
        yield rows


def overview(client: RMQ) -> str:
    found = client.run(read_frame(LiveKeys(client.keyspace.namespace).overview))
    return found[1] if found else ""


def test_every_page_is_here() -> None:
    assert {*ADDRESSES, *SAME_AS, *NO_PAGE} == set(PAGES)


def walked(page: Page, stack: Stack, addresses: list[str]) -> None:
    walk = Walk(page)
    english: dict[str, list[str]] = {}
    missing: set[str] = set()
    for address in addresses:
        for step in walk.steps(stack.address + address):
            for text in left_over(step.texts):
                english.setdefault(text, [address, step.pressed])
            missing |= set(step.not_copied) - set(NOT_COPIED)
    for status in (404, 409, 422):
        forgive(page, status)
    found = "\n".join(f"{text!r} after {where}" for text, where in english.items())
    assert not english and not missing, f"nothing to copy: {missing}; {found}"


@pytest.mark.parametrize("name", sorted(set(ADDRESSES) - NEED_ROWS))
def test_an_empty_page(open_page: Open, stack: Stack, name: str) -> None:
    walked(open_page("/api/v1/health/live", "admin", **CHINESE), stack, ADDRESSES[name])


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_page(open_page: Open, stack: Stack, filled: dict[str, str], name: str) -> None:
    addresses = [each.format(**filled) for each in ADDRESSES[name]]
    walked(open_page("/api/v1/health/live", "admin", **CHINESE), stack, addresses)


def test_this_test_sees_english_and_what_has_nothing_to_copy(
    open_page: Open, stack: Stack, filled: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walking, "COPIES", "() => false")
    with pytest.raises(AssertionError) as found:
        walked(open_page("/api/v1/health/live", "admin"), stack, ["/alerts/"])
    assert "'Receivers' after" in str(found.value) and "'p test'" in str(found.value)
