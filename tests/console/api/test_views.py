"""Saved views and favourites over REST: whose they are, who sees them, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from console.models import AuditEntry, SavedView, TopicScope
from console.usecases import favourites, views
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue

pytestmark = pytest.mark.django_db
DEAD = "topics/orders/dead/?order=oldest"


@pytest.fixture
def make(caller: Callable[..., Caller]) -> Callable[..., Caller]:
    """One token a name, so that two of a role are two."""
    return lambda name, role="Operator", topics="*": caller(role, topics, name=name)


def names(who: Caller) -> list[str]:
    return [each["name"] for each in who.ok("GET", "/views")["views"]]


def save(who: Caller, name: str, address: str = DEAD, status: int = 201, **more: Any) -> Any:
    return who.ok("POST", "/views", {"name": name, "address": address, **more}, status=status)


def test_a_view_is_ones_own_or_shared(queue: Queue, make: Callable[..., Caller]) -> None:
    anna, bert = make("anna", "Viewer"), make("bert")
    mine = save(anna, " dead ones ")
    assert (mine["name"], mine["topic"], mine["url"], mine["shared"]) == ("dead ones", "orders", f"/{DEAD}", False)
    assert names(bert) == []
    problem(anna.post("/views", {"name": "x", "address": DEAD, "shared": True}), 403, "forbidden")
    assert save(bert, "dead ones", shared=True)["username"].startswith("token bert")
    assert names(anna) == ["dead ones", "dead ones"] and names(bert) == ["dead ones"]
    (entry,) = AuditEntry.objects.filter(action="share_view", result="done")
    assert (entry.topic, entry.query["view"]) == ("orders", "dead ones")


def test_names_are_replaced_only_when_asked_for(queue: Queue, make: Callable[..., Caller]) -> None:
    anna = make("anna")
    save(anna, "a")
    problem(anna.post("/views", {"name": "a", "address": "dead/"}), 409, "view_exists")
    save(anna, "a", "dead/", replace=True)
    (view,) = anna.ok("GET", "/views")["views"]
    assert (view["address"], view["topic"]) == ("dead/", "")


def test_who_may_delete(queue: Queue, make: Callable[..., Caller]) -> None:
    anna, bert = make("anna", "Viewer"), make("bert")
    mine, ours = save(anna, "mine"), save(bert, "ours", shared=True)
    problem(bert("DELETE", f"/views/{mine['id']}"), 404, "unknown_view")
    problem(anna("DELETE", f"/views/{ours['id']}"), 403, "forbidden")
    assert bert.ok("DELETE", f"/views/{ours['id']}") == {"views": []}
    assert names(anna) == ["mine"] and anna.ok("DELETE", f"/views/{mine['id']}") == {"views": []}


@pytest.mark.parametrize(
    "address",
    ["https://elsewhere/x", "//elsewhere/", "javascript:alert(1)", "../admin/", "admin/", "api/v1/me", "texts.js",
     "topics/or ders/", "screens/secret/", "nothing/", "language/setlang/", "?q=" + "ä" * 900],
)  # fmt: skip
def test_only_pages_of_ours_are_kept(queue: Queue, make: Callable[..., Caller], address: str) -> None:
    problem(make("anna").post("/views", {"name": "n", "address": address}), 422, "bad_request")
    assert not SavedView.objects.exists()


def test_odd_queries_stay_what_they_are(queue: Queue, make: Callable[..., Caller]) -> None:
    kept = save(make("anna"), "<b>&", "topics/orders/messages/?q=%3Cscript%3E&q=a+b&x=%26#part")
    assert kept["address"] == "topics/orders/messages/?q=%3Cscript%3E&q=a+b&x=%26"


def test_shared_views_tell_nobody_of_topics_that_are_not_theirs(queue: Queue, make: Callable[..., Caller]) -> None:
    boss, team, other = make("boss"), make("team", topics="orders,mail*"), make("other", topics="mail*")
    save(boss, "of all", "?q=secret", shared=True)
    save(boss, "of orders", shared=True)
    save(team, "of the team", "?q=ord", shared=True)
    assert names(boss) == ["of all", "of orders", "of the team"]
    assert names(team) == ["of orders", "of the team"]
    assert names(other) == []
    problem(other.post("/views", {"name": "x", "address": DEAD}), 403, "out_of_scope")
    # Not even by its name, where one could replace it.
    problem(
        other.post("/views", {"name": "of all", "address": "", "shared": True, "replace": True}), 409, "view_exists"
    )
    assert SavedView.objects.get(name="of all").address == "?q=secret"


def test_there_is_an_end_of_them(queue: Queue, make: Callable[..., Caller], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "VIEWS_MOST", 1)
    monkeypatch.setattr(favourites, "FAVOURITES_MOST", 1)
    anna = make("anna")
    save(anna, "a")
    problem(anna.post("/views", {"name": "b", "address": ""}), 422, "bad_request")
    save(anna, "a", "", replace=True)
    queue.topic()
    queue.topic("mail")
    assert anna.ok("PUT", "/favourites/orders") == anna.ok("PUT", "/favourites/orders") == {"topics": ["orders"]}
    problem(anna("PUT", "/favourites/mail"), 422, "bad_request")


def test_favourites_are_ones_own(queue: Queue, make: Callable[..., Caller]) -> None:
    queue.topic()
    anna, bert = make("anna", "Viewer"), make("bert", topics="orders")
    problem(anna("PUT", "/favourites/nothing"), 404, "unknown_topic")
    problem(bert("PUT", "/favourites/mail"), 403, "out_of_scope")
    anna.ok("PUT", "/favourites/orders")
    assert anna.ok("GET", "/favourites") == {"topics": ["orders"]} and bert.ok("GET", "/favourites") == {"topics": []}
    queue.control.delete_topic("orders")
    assert anna.ok("DELETE", "/favourites/orders") == {"topics": []}


def test_the_palette_finds_views_and_favourites_first(queue: Queue, person: Callable[..., User]) -> None:
    """And who loses a topic loses what was kept of it."""
    queue.topic("mail-a")
    queue.topic("mail-b")
    user, browser = person("Viewer"), Client()
    browser.force_login(user)
    actor = views.Actor(user)
    views.save(actor, "late mails", "topics/mail-b/messages/?state=delayed")
    favourites.star(user, "mail-b")

    def found() -> str:
        return browser.get("/admin/search/?s=mail&extended=1").content.decode()

    text = found()
    assert text.index("late mails") < text.index('topics/mail-b/"') < text.index('topics/mail-a/"')
    assert "topics/mail-b/messages/?state=delayed" in text
    team = Group.objects.create(name="Team")
    TopicScope.objects.create(group=team, patterns="mail-a")
    user.groups.add(team)
    text = found()
    assert "late mails" not in text and "mail-b" not in text and "mail-a" in text
