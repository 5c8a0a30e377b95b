"""Every REST route, asked by somebody for some topics: nothing names another, and nothing is done to it.

A new route is walked by itself: it must be in the table of `test_walk`, and what it reads in `worlds`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from console.access import TokenUser, in_scope, rows_in_scope
from console.models import AlertRule, AlertSilence, AuditEntry, Operation, PipelineSchedule, Reconciliation, TopicScope
from rmq_core import Addressed, StreamMessage
from rmq_core.model.follow_ups import AFTER_HEADER
from tests.console.api.test_walk import ROUTES
from tests.console.conftest import Queue
from tests.console.scope.conftest import HIDDEN, text_of

REFUSED = (403, 404)
PLACED = sorted(key for key in ROUTES if "{topic}" in key[1])
READ = sorted(key for key in ROUTES if key[0] == "GET")
# Served to nobody who is for some topics: what it tells of belongs to no topic, or to all.
OF_ALL = {f"/outbox{rest}" for rest in ("", "/{database}/messages", "/{database}/messages/{number}")}
OF_ALL |= {"/screens", "/screens/{name}", "/screens/{name}/data"}


def hidden(text: str) -> str:
    return text.replace("orders", f"{HIDDEN}-orders").replace("events", f"{HIDDEN}-events")


def ask(browser: Client, method: str, path: str, body: Any = None) -> Any:
    data = b"" if body is None else json.dumps(body).encode()
    return browser.generic(method, f"/api/v1{path}", data, content_type="application/json")


def test_no_answer_names_what_is_hidden(worlds: Queue, browser: Client) -> None:
    wrong = []
    for key in READ:
        answer = ask(browser, "GET", ROUTES[key].path)
        expected = answer.status_code in REFUSED if key[1] in OF_ALL else answer.status_code not in (401, 403, 500)
        if not expected or HIDDEN in text_of(answer):
            wrong.append((key[1], answer.status_code, text_of(answer)[:2_000]))
    assert not wrong


def test_what_follows_names_no_hidden_topic(worlds: Queue, browser: Client) -> None:
    then = Addressed("orders", "b", in_ms=0, if_done=Addressed(f"{HIDDEN}-orders", f"{HIDDEN} content", in_ms=0))
    for content in ("followed", "taken"):
        worlds.client.send("orders", content, in_ms=0, slot_basis="d", if_done=then)
        if content == "followed":
            worlds.client.reject(worlds.client.take("orders", timeout_ms=2_000))
    worlds.client.send("events", StreamMessage("e", headers={AFTER_HEADER: f"{HIDDEN}-orders 0 x"}))
    assert HIDDEN not in text_of(ask(browser, "GET", "/topics/orders/why")), "nor does the route that takes from it"
    asked = [("GET", "/topics/orders/messages/a", None), ("GET", "/topics/orders/messages/followed", None)]
    asked += [("GET", "/topics/orders/dead:export", None), ("POST", "/topics/orders:take", {"max": 5})]
    asked += [("GET", f"/topics/events/entries/{each.id}", None) for each in worlds.client.read("events").entries]
    for method, path, body in asked:
        answer = ask(browser, method, path, body)
        text = text_of(answer)
        assert (answer.status_code, HIDDEN in text) == (200, False), (path, text)
        assert "rmq-" in text, path


def test_what_is_of_a_hidden_topic_is_refused_under_its_own_name(worlds: Queue, browser: Client) -> None:
    wrong = []
    for method, template in PLACED:
        route = ROUTES[method, template]
        answer = ask(browser, method, hidden(route.path), route.body)
        if answer.status_code != 403 or answer.json()["code"] != "out_of_scope":
            wrong.append((method, template, answer.status_code, answer.content[:200]))
    assert not wrong


def test_what_has_a_number_or_a_name_of_its_own_is_not_there(worlds: Queue, browser: Client) -> None:
    places = [f"/operations/{each.pk}" for each in Operation.objects.all()]
    places += [f"/operations/{each.pk}/report" for each in Operation.objects.all()]
    places += [f"/reconciliations/{each.pk}" for each in Reconciliation.objects.all()]
    places += [f"/reconciliations/{each.pk}/findings" for each in Reconciliation.objects.all()]
    places += [f"/reconciliations/schedules/{each.pk}" for each in PipelineSchedule.objects.all()]
    places += [f"/audit/{each.pk}" for each in AuditEntry.objects.all()]
    places += [f"/recurring/{HIDDEN}-n", f"/recurring/{HIDDEN}-n/ticks", f"/routes/{HIDDEN}-r"]
    assert len(places) > 9
    for place in places:
        answer = ask(browser, "GET", place)
        assert answer.status_code == 404, (place, answer.content)
        assert f"{HIDDEN}-orders" not in text_of(answer), place


def test_nothing_is_done_to_what_is_hidden(worlds: Queue, browser: Client) -> None:
    silence, why = AlertSilence.objects.get().pk, {"reason": "a test"}
    tried = [
        ("PATCH", f"/recurring/{HIDDEN}-n", {"enabled": False}),
        ("POST", f"/recurring/{HIDDEN}-n:run", {}),
        ("DELETE", f"/recurring/{HIDDEN}-n?reason=x", None),
        ("PATCH", f"/alerts/rules/{HIDDEN}-rule", {"enabled": False}),
        ("PATCH", f"/alerts/rules/{HIDDEN}-rule", {"topics": "orders"}),
        ("DELETE", f"/alerts/rules/{HIDDEN}-rule?reason=x", None),
        ("POST", f"/alerts/silences/{silence}:end", {}),
        ("POST", "/alerts/silences", {"topics": f"{HIDDEN}*", "for_ms": 60_000, **why}),
        ("POST", "/alerts/silences", {"for_ms": 60_000, **why}),
        ("POST", f"/routes/{HIDDEN}-r:pause", why),
        ("DELETE", f"/routes/{HIDDEN}-r?reason=x", None),
        ("PUT", "/routes/new", {"source": "orders", "targets": [{"topic": f"{HIDDEN}-events"}]}),
        ("PUT", "/routes/new", {"source": f"{HIDDEN}-orders", "targets": [{"topic": "events"}]}),
        ("POST", f"/operations/{Operation.objects.get().pk}:stop", None),
        ("POST", "/reconciliations", {"topics": [f"{HIDDEN}-orders"]}),
        ("POST", "/reconciliations", {}),
        ("POST", "/reconciliations/schedules", {"topics": ["orders"], "every_ms": 3_600_000, **why}),
        ("POST", "/outbox/default/messages:discard", {"topic": f"{HIDDEN}-orders", **why}),
        ("POST", "/workers/w1:drain", why),
        ("POST", f"/screens/{HIDDEN}-wall:link", {}),
        ("POST", "/recurring", {"name": "n", "topic": f"{HIDDEN}-orders", "content": "x", "when": "in_ms", "value": 0,
                                "every_ms": 60_000}),
        ("POST", "/topics/orders/dead:redrive",
         {"messages": [{"slot": 0, "id": "d"}], "target": {"topic": f"{HIDDEN}-orders"}, **why}),
    ]  # fmt: skip
    for method, path, body in tried:
        answer = ask(browser, method, path, body)
        assert answer.status_code in REFUSED, (method, path, answer.status_code, answer.content)
    assert AlertRule.objects.get(name=f"{HIDDEN}-rule").topics == f"{HIDDEN}-orders"
    assert worlds.find("a", f"{HIDDEN}-orders")


def test_lists_have_what_is_theirs(worlds: Queue, browser: Client) -> None:
    assert ask(browser, "POST", "/topics/orders:pause", {}).status_code == 200
    (entry,) = ask(browser, "GET", "/audit").json()["entries"]
    assert (entry["action"], entry["topic"]) == ("pause", "orders")
    assert "orders" in text_of(ask(browser, "GET", "/audit/export?form=csv"))
    Operation.objects.create(action="requeue", topic="events@mail")
    (operation,) = ask(browser, "GET", "/operations").json()["operations"]
    assert operation["topic"] == "events@mail", "a group is as its stream"
    assert [each["name"] for each in ask(browser, "GET", "/topics").json()["topics"]] == ["events", "orders"]
    assert ask(browser, "GET", "/dead").json()["dead"] == 1
    (worker,) = ask(browser, "GET", "/workers").json()["workers"]
    assert (worker["topics"], worker["versions"], worker["at_most_once"]) == ({"orders": 0}, {"orders": 1}, ["orders"])
    me = ask(browser, "GET", "/me").json()
    assert (me["topics"], me["role"]) == (["orders", "events*"], None)


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ("orders", {"orders"}),
        ("o?ders, mail", {"orders", "mail"}),
        ("ev*", {"events", "events@mail", "evs"}),
        ("*s", {"orders", "events", "events@mail", "evs"}),
        ("*", {"orders", "events", "events@mail", "evs", "mail", "o.d", "oxd", ""}),
        ("o.d", {"o.d"}),
    ],
)
def test_the_database_and_python_agree(db: None, person: Any, patterns: str, expected: set[str]) -> None:
    names = {"orders", "events", "events@mail", "evs", "mail", "o.d", "oxd", ""}
    for name in names:
        AuditEntry.objects.create(action="pause", topic=name)
    user = person("Admin")
    user.groups.add(Group.objects.create(name="Team"))
    TopicScope.objects.create(group=Group.objects.get(name="Team"), patterns=patterns)
    assert {name for name in names if in_scope(user, name)} == expected
    assert {each.topic for each in AuditEntry.objects.filter(rows_in_scope(user))} == expected


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [(("events",), {"events"}), (("*@mail",), {"events@mail"}), (("ev*",), {"events", "events@mail"})],
)
def test_tokens_name_each_group(db: None, patterns: tuple[str, ...], expected: set[str]) -> None:
    names = {"events", "events@mail", "orders"}
    for name in names:
        AuditEntry.objects.create(action="pause", topic=name)
    token = TokenUser("relay", "x", "Viewer", patterns)
    assert {name for name in names if in_scope(token, name)} == expected
    assert {each.topic for each in AuditEntry.objects.filter(rows_in_scope(token))} == expected


def test_no_refusal_names_what_is_hidden(worlds: Queue, browser: Client) -> None:
    """A hidden route takes from a topic of one's own."""
    asked = [
        ("PUT", "/routes/mine", {"source": "orders", "targets": [{"topic": "events"}]}),
        ("PUT", f"/routes/{HIDDEN[:3]}", {"source": "orders", "targets": [{"topic": "events"}], "reason": "why"}),
        ("DELETE", "/topics/orders?validate_only=true", None),
        ("DELETE", "/topics/orders?reason=why", None),
        ("PUT", "/topics/orders?validate_only=true", {"kind": "fixed-time", "paused": True}),
    ]
    for method, path, body in asked:
        answer = ask(browser, method, path, body)
        assert HIDDEN not in text_of(answer), (method, path, text_of(answer))
        assert answer.status_code < 500
    answer = ask(browser, "PUT", "/routes/mine", asked[0][2])
    assert answer.status_code == 422 and "Another route takes from “orders” already" in answer.json()["message"]
    assert HIDDEN not in text_of(ask(browser, "GET", "/audit")) + text_of(ask(browser, "GET", "/audit/export?form=csv"))
    form = {"name": "mine", "source": "orders", "targets": '[{"topic": "events"}]', "start": "end"}
    answer = browser.post(reverse("console_admin:console_routedefinition_add"), form)
    assert HIDDEN not in text_of(answer) and "already" in text_of(answer)
