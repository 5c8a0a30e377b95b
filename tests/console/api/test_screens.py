"""Screens: what their panels may be, what they show, and their link, which opens nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from console.access import User
from console.engine import new_async_engine
from console.errors import UnknownScreen
from console.history.points import POINT
from console.keeper.sampler import Sampler
from console.models import Alert, AuditEntry, Screen
from console.options import options
from console.panels import METRICS, InvalidPanels, Panel, pages_of
from console.snapshots.store import LiveKeys
from console.usecases import screens
from console.usecases.actor import Actor
from rmq_core import TopicKind
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue
from tests.docs.blocks import ROOT, blocks

BY_LINK = "/api/v1/links/screens/"
PANELS = (
    "figures\nfigures orders\nchart orders lag_ms\nheatmap orders\n\ntopics ord*\nproblems\nalerts\nchart gone backlog"
)


def test_panels_by_line_and_page() -> None:
    first, second = pages_of("figures\nCHART orders lag_ms\n\n\nheatmap a@b\nalerts\n\n")
    assert first == [Panel("figures"), Panel("chart", "orders", "lag_ms")]
    assert second == [Panel("heatmap", "a@b", "backlog"), Panel("alerts")]
    assert {*METRICS["chart"]} <= {*POINT}


def test_the_document_shows_two_pages_of_panels() -> None:
    (shown, *_) = [each.code for each in blocks(ROOT / "docs/how-to/screens.md") if each.how == "run by"]
    first, second = pages_of(shown)
    assert (first[0], first[2]) == (Panel("figures"), Panel("chart", "orders", "backlog"))
    assert Panel("alerts") in second


@pytest.mark.parametrize(
    "text",
    ["", "clock", "chart", "chart a/b", "chart orders mood", "heatmap orders in_s", "alerts all", "topics a b",
     "chart ord*", "\n".join(["alerts"] * 13), "\n\n".join(["alerts"] * 21)],
)  # fmt: skip
def test_what_is_no_panel(text: str) -> None:
    with pytest.raises(InvalidPanels):
        pages_of(text)


@pytest.fixture
def screen(queue: Queue) -> Screen:
    made: Screen = Screen.objects.create(name="wall", title="Operations", panels=PANELS, theme="dark")
    return made


async def sample() -> None:
    engine = new_async_engine()
    try:
        await Sampler(engine, LiveKeys(options().namespace), 1_000, 10_000).round()
    finally:
        await engine.client.close()


@pytest.mark.django_db
def test_what_it_shows(queue: Queue, screen: Screen, caller: Callable[..., Caller]) -> None:
    viewer = caller("Viewer")
    empty = viewer.ok("GET", "/screens/wall/data")
    assert empty["age_ms"] is None  # nobody samples: it says so, and shows no 0
    assert empty["pages"][0][0]["values"] is None
    queue.topic("orders", TopicKind.PRIORITY, slots=4)
    queue.topic("other", TopicKind.PRIORITY, slots=1)
    for number in range(5):
        queue.client.send("orders", f"secret {number}", priority=100)
    Alert.objects.create(
        name="late", topic="orders", severity="critical", state="firing", began_ms=1, fired_ms=1, seen_ms=1
    )
    for _ in range(2):
        asyncio.run(sample())
    data = viewer.ok("GET", "/screens/wall/data")
    totals, of_topic, chart, heat = data["pages"][0]
    topics, problems, alerts, gone = data["pages"][1]
    assert totals["values"]["backlog"] == of_topic["values"]["backlog"] == 5
    assert len(chart["points"]) == 2 and sum(heat["slots"]) == 5
    assert [each["name"] for each in topics["lines"]] == ["orders"]
    assert [each["code"] for each in problems["lines"]] == ["no_workers"]
    assert [each["name"] for each in alerts["lines"]] == ["late"]
    assert gone["points"] == []
    assert data["age_ms"] >= 0 and "secret" not in str(data)


@pytest.mark.django_db
def test_a_link_shows_this_screen_and_nothing_else(
    screen: Screen, caller: Callable[..., Caller], client: Client
) -> None:
    admin = caller("Admin")
    address = admin.ok("POST", "/screens/wall:link", {"days": 90})["address"]
    path = address.partition("testserver")[2]
    data = BY_LINK + path.strip("/").rpartition("/")[2]
    page = client.get(path)
    assert page.status_code == 200 and b"sidebar" not in page.content
    assert page["Referrer-Policy"] == "no-referrer" and "no-store" in page["Cache-Control"]
    assert data in page.content.decode()
    assert client.get(data).json()["title"] == "Operations" and client.get(data)["Referrer-Policy"] == "no-referrer"
    assert client.post(path).status_code == client.post(data).status_code == 405
    assert client.get("/").status_code == client.get("/screens/").status_code == 302
    assert client.get("/api/v1/screens/wall/data").status_code == 401
    screen.refresh_from_db()
    secret = path.strip("/").rpartition("/")[2]
    assert secret not in str(vars(screen)) and secret not in str([*AuditEntry.objects.values("query", "detail")])
    again = admin.ok("POST", "/screens/wall:link", {})["address"].partition("testserver")[2]
    assert [client.get(each).status_code for each in (path, data, again)] == [404, 404, 200]
    Screen.objects.update(link_until=timezone.now() - timedelta(seconds=1))
    assert client.get(again).status_code == 404
    again = admin.ok("POST", "/screens/wall:link", {})["address"].partition("testserver")[2]
    assert admin.ok("POST", "/screens/wall:revoke", {"reason": "moved"})["linked"] is False
    assert client.get(BY_LINK + again.strip("/").rpartition("/")[2]).status_code == 404
    assert [*AuditEntry.objects.order_by("id").values_list("action", "result")] == [("screen_link", "done")] * 4


@pytest.mark.django_db
def test_put_on_a_screen(screen: Screen, caller: Callable[..., Caller]) -> None:
    editor = caller("Editor")
    changed = editor.ok("POST", "/screens/wall/panels", {"panel": "chart orders dead"})
    assert changed["panels"].splitlines()[-1] == "chart orders dead"
    problem(editor.post("/screens/wall/panels", {"panel": "clock"}), 422, "bad_request")
    problem(editor.post("/screens/none/panels", {"panel": "alerts"}), 404, "unknown_screen")
    screen.refresh_from_db()
    assert "clock" not in screen.panels


@pytest.mark.django_db
def test_what_somebody_changed_meanwhile_stays(
    screen: Screen, caller: Callable[..., Caller], person: Callable[..., User]
) -> None:
    """A panel is put on it from an object that was read before."""
    admin = caller("Admin")
    admin.ok("POST", "/screens/wall:link", {"reason": "a wall"})
    read_before = Screen.objects.get(name="wall")
    actor = Actor(person("Admin"))
    admin.ok("POST", "/screens/wall:revoke", {"reason": "moved"})
    screens.add_panel(actor, read_before, "alerts")
    screen.refresh_from_db()
    assert not screen.has_link and screen.panels.endswith("alerts")
    screens.make_link(actor, read_before, reason="again")
    screens.remove(actor, screen, "gone")
    with pytest.raises(UnknownScreen):
        screens.add_panel(actor, read_before, "alerts")
    assert not Screen.objects.exists()


@pytest.mark.django_db
def test_a_token_of_some_topics_sees_no_screen(screen: Screen, caller: Callable[..., Caller]) -> None:
    scoped: Any = caller("Viewer", "orders")
    problem(scoped.get("/screens/wall/data"), 403, "out_of_scope")
    problem(scoped.get("/screens"), 403, "out_of_scope")


@pytest.mark.django_db
def test_a_screen_from_made_to_deleted(queue: Queue, caller: Callable[..., Caller]) -> None:
    editor = caller("Editor")
    body = {"name": "hall", "panels": "figures\n\nalerts", "theme": "dark", "reason": "for the hall"}
    made = editor.post("/screens", body)
    assert made.status_code == 201 and made["Location"].endswith("/screens/hall")
    assert editor.ok("GET", "/screens/hall") == made.json() and made.json()["rotate_s"] == 20
    problem(editor.post("/screens", body), 409, "screen_exists")
    assert len(editor.ok("GET", "/screens/hall/data")["pages"]) == 2
    caller("Admin").ok("POST", "/screens/hall:link", {"reason": "a wall"})
    changed = editor.ok("PATCH", "/screens/hall", {"title": "Hall", "rotate_s": 0})
    assert (changed["title"], changed["rotate_s"], changed["panels"], changed["linked"]) == (
        "Hall", 0, body["panels"], True,
    )  # fmt: skip
    problem(editor("DELETE", "/screens/hall"), 422, "invalid")
    assert editor("DELETE", "/screens/hall?reason=moved").status_code == 204
    problem(editor.get("/screens/hall"), 404, "unknown_screen")
    entries = [*AuditEntry.objects.filter(action="screen").order_by("id").values_list("result", "reason")]
    assert entries == [("done", "for the hall"), ("refused", "for the hall"), ("done", ""), ("done", "moved")]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"panels": "clock"}, "panels"), ({"panels": ""}, "panels"), ({"panels": "alerts\x00"}, "panels"),
        ({"panels": "alerts \u202e"}, "panels"), ({"panels": "alerts\u2028figures"}, "panels"),
        ({"name": "a b"}, "name"), ({"name": "x:link"}, "name"), ({"rotate_s": 3_601}, "rotate_s"),
        ({"theme": "red"}, "theme"), ({"title": "a\x00"}, "title"), ({"digest": "x"}, "digest"),
    ],
)  # fmt: skip
def test_what_is_no_screen(queue: Queue, caller: Callable[..., Caller], given: dict[str, Any], field: str) -> None:
    body = {"name": "hall", "panels": "alerts"} | given
    assert problem(caller("Editor").post("/screens", body), 422, "invalid")["fields"][0]["field"] == field
    assert not Screen.objects.exists()
