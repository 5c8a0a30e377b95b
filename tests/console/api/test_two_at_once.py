"""Of two who have seen one version and write, or write and delete, one has done it; the other one is told 412."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from console.api.http import preconditions
from console.api.streams import routes
from console.models import AlertRule
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
    "route": ("PUT", "/routes/r", ROUTE, "PUT", {**ROUTE, "description": "a"}, {**ROUTE, "description": "b"}),
}
"""How it is made, and what both want of it."""


@pytest.fixture
def admin(queue: Queue, caller: Callable[..., Caller]) -> Caller:
    AlertRule.objects.all().delete()
    queue.topic()
    queue.topic("others")
    return caller("Admin")


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Has somebody else act between the look at a version and what is done with it."""

    def act(other: Callable[[], Any]) -> None:
        pending = [other]
        known = preconditions.tags_of

        def tags_of(name: str, header: str) -> list[str]:
            if header.startswith('"') and pending:
                assert pending.pop()().status_code == 200
            return known(name, header)

        for module in (preconditions, routes):
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
    assert {**there.json(), **others} == there.json()
    assert admin("DELETE", one + WHY, If_Match=there["ETag"]).status_code in (200, 204)


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
