"""Of two who have seen one version and write, or write and delete, one has done it; the other one is told 412."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from console.api.http import preconditions
from console.api.streams import groups, routes
from console.api.topics import definitions
from console.models import AlertRule
from console.usecases.definitions import topics as store
from rmq_core import TopicKind
from rmq_core.errors import VersionConflict
from tests.console.api.conftest import Caller, problem
from tests.console.api.test_row_etags import ROWS
from tests.console.conftest import Queue

WHY = "?reason=over"
ROUTE = {"source": "orders", "targets": [{"topic": "others"}]}
WRITTEN: dict[str, tuple[str, str, Any, str, Any, Any]] = {
    **{path: ("POST", path, body, "PATCH", change, change) for path, (body, change) in ROWS.items()},
    "topic": ("PUT", "/topics/t", {"kind": "priority"}, "PUT", {"weight": 3}, {"weight": 4}),
    "stream": ("PUT", "/topics/s", {"kind": "stream"}, "PUT", {"weight": 3}, {"weight": 4}),
    "group": ("PUT", "/topics/events/groups/g", {"start": "start"}, "PUT", {"weight": 3}, {"weight": 4}),
    "route": ("PUT", "/routes/r", ROUTE, "PUT", {**ROUTE, "description": "a"}, {**ROUTE, "description": "b"}),
}
"""How it is made, and what both want of it."""


@pytest.fixture
def admin(queue: Queue, caller: Callable[..., Caller]) -> Caller:
    AlertRule.objects.all().delete()
    queue.topic()
    queue.topic("others")
    queue.topic("events", TopicKind.STREAM)
    return caller("Admin")


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Has somebody else act between the look at a version and what is done with it."""

    def act(other: Callable[[], Any]) -> None:
        pending = [other]
        known = preconditions.tags_of

        def tags_of(name: str, header: str) -> list[str]:
            if header.startswith('"') and pending:
                assert pending.pop()().status_code in (200, 204)
            return known(name, header)

        for module in (preconditions, groups, routes):
            monkeypatch.setattr(module, "tags_of", tags_of)

    return act


@pytest.mark.django_db
@pytest.mark.parametrize("what", WRITTEN)
@pytest.mark.parametrize("delete", [False, True], ids=["write", "delete"])
def test_what_somebody_else_has_just_written_is_neither_undone_nor_deleted(
    admin: Caller, meanwhile: Any, what: str, delete: bool
) -> None:
    make, path, body, write, mine, others = WRITTEN[what]
    made = admin(make, path, body)
    assert made.status_code == 201, made.content
    one = path if make == "PUT" else made["Location"].removeprefix("/api/v1")
    seen = admin.get(one)["ETag"]
    meanwhile(lambda: admin(write, one, others, If_Match=seen))
    answer = admin("DELETE", one + WHY, If_Match=seen) if delete else admin(write, one, mine, If_Match=seen)
    assert answer.status_code == 412, answer.content
    problem(answer, 412, answer.json()["code"])
    there = admin.get(one)
    assert there.status_code == 200 and there["ETag"] != seen
    shown = there.json().get("settings", there.json())
    assert {**shown, **others} == shown
    assert admin("DELETE", one + WHY, If_Match=there["ETag"]).status_code in (200, 204)


@pytest.mark.django_db
@pytest.mark.parametrize("what", WRITTEN)
def test_what_somebody_else_has_just_deleted_is_not_there(admin: Caller, meanwhile: Any, what: str) -> None:
    """Nor is it made anew by whoever wanted that version. What PUT makes where there is none is 412, all else 404."""
    make, path, body, write, mine, _ = WRITTEN[what]
    made = admin(make, path, body)
    one = path if make == "PUT" else made["Location"].removeprefix("/api/v1")
    seen = admin.get(one)["ETag"]
    meanwhile(lambda: admin("DELETE", one + WHY))
    assert admin(write, one, mine, If_Match=seen).status_code in ((412,) if write == "PUT" else (404, 412))
    assert admin.get(one).status_code == 404
    for tag in (seen, "*"):
        assert admin(write, one, mine, If_Match=tag).status_code == (412 if write == "PUT" else 404)
        assert admin("DELETE", one + WHY, If_Match=tag).status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize("what", ["topic", "stream", "group"])
def test_a_look_at_a_deletion_is_at_that_version(admin: Caller, what: str) -> None:
    make, path, body, *_ = WRITTEN[what]
    seen = admin(make, path, body)["ETag"]
    assert admin("DELETE", f"{path}?validate_only=true", If_Match=seen).status_code == 200
    assert admin("DELETE", f"{path}?validate_only=true", If_Match='"other"').status_code == 412


@pytest.mark.django_db
@pytest.mark.parametrize("what", ["topic", "stream", "route"])
def test_who_made_it_at_the_same_moment_was_first(admin: Caller, monkeypatch: Any, what: str) -> None:
    make, path, body, *_ = WRITTEN[what]
    for none_match, code in (("*", 412), ("", 428)):
        saving = definitions.store.save if what != "route" else routes.store.save
        pending = [lambda: admin(make, path, body)]

        def save(*args: Any, saving: Any = saving, pending: Any = pending, **kwargs: Any) -> Any:
            if pending:
                assert pending.pop()().status_code == 201
            return saving(*args, **kwargs)

        monkeypatch.setattr(routes.store if what == "route" else definitions.store, "save", save)
        word = f"{'route' if what == 'route' else 'topic'}_exists" if none_match else "version_required"
        problem(admin(make, path, body, If_None_Match=none_match), code, word)
        monkeypatch.undo()
        assert admin("DELETE", path + WHY).status_code in (200, 204)


@pytest.mark.django_db
@pytest.mark.parametrize("what", ["topic", "stream", "group"])
def test_what_goes_while_it_is_counted_is_not_there(
    admin: Caller, queue: Queue, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    _, path, body, write, mine, _ = WRITTEN[what]
    name = path.removeprefix("/topics/").replace("/groups/", "@")

    def goes(looking: Any) -> Any:
        def look(name: str) -> Any:
            found = looking(name)
            queue.control.delete_topic(name, force=True)
            return found

        return look

    monkeypatch.setattr(store, "stored", goes(store.stored))
    monkeypatch.setattr(definitions, "_stored", goes(definitions._stored))
    asked = [("DELETE", f"{path}{WHY}&force=true", None), ("DELETE", f"{path}?validate_only=true", None)]
    if what != "group":
        asked.append((write, f"{path}?validate_only=true", mine))
    for method, address, change in asked:
        queue.client.define_group("events", "g") if what == "group" else queue.topic(name, TopicKind(body["kind"]))
        problem(admin(method, address, change), 404, "unknown_group" if what == "group" else "unknown_topic")


@pytest.mark.django_db
def test_a_rule_is_another_version_when_those_it_tells_are_named_anew_or_go(admin: Caller) -> None:
    made = admin.post("/alerts/receivers", {"name": "one", "address": "https://n.test/"})
    receiver = made["Location"].removeprefix("/api/v1")
    seen = admin.post("/alerts/rules", {"name": "n", "problem": "dead", "receivers": ["one"]})["ETag"]
    assert seen == admin.get("/alerts/rules/n")["ETag"]
    admin.ok("PATCH", receiver, {"name": "two"})
    renamed = admin.get("/alerts/rules/n")
    assert renamed.json()["receivers"] == ["two"] and renamed["ETag"] != seen
    problem(admin("PATCH", "/alerts/rules/n", {"severity": "info"}, If_Match=seen), 412, "changed_meanwhile")
    assert admin("DELETE", receiver + WHY).status_code == 204
    problem(admin("DELETE", "/alerts/rules/n" + WHY, If_Match=renamed["ETag"]), 412, "changed_meanwhile")
    assert admin("DELETE", "/alerts/rules/n" + WHY, If_Match=admin.get("/alerts/rules/n")["ETag"]).status_code == 204


def test_the_engine_deletes_a_topic_only_as_it_was_seen(queue: Queue) -> None:
    seen = queue.client.topic(queue.topic())
    now = queue.control.pause("orders")
    with pytest.raises(VersionConflict, match="not as it was seen"):
        queue.control.delete_topic("orders", seen=seen)
    assert queue.control.delete_topic("orders", seen=now) == 0
