"""A query that a route does not know is refused, whatever the route: nothing acts on half of what was asked."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from tests.console.api.conftest import Caller, openapi, problem
from tests.console.conftest import Queue

WITH_BODY = {"post", "put", "patch"}
METHODS = {"get", "delete", *WITH_BODY}
NAMED = {
    "topic": "orders",
    "name": "gates",
    "id": "m1",
    "slot": 0,
    "number": 1,
    "worker": "w",
    "ident": uuid4(),
    "operation": uuid4(),
    "group": "g",
    "entry_id": "1-0",
    "database": "default",
    "ref": "0-1",
}
OPEN = ("/health/", "/links/")


def test_every_route_refuses_what_it_does_not_know(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    admin = caller("Admin")
    tried = 0
    for path, operations in openapi()["paths"].items():
        if any(each in path for each in OPEN):
            continue
        address = path.partition("/api/v1")[2].format_map(NAMED)
        for method in METHODS & set(operations):
            answer = admin(method.upper(), f"{address}?nosuch=1", {} if method in WITH_BODY else None)
            assert problem(answer, 422, "invalid")["fields"] == [{"field": "nosuch", "problem": "is not known here"}]
            tried += 1
    assert tried > 50


def test_a_misspelt_dry_run_does_nothing(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    admin = caller("Admin")
    answer = admin("DELETE", "/topics/orders?valdiate_only=true&force=true&reason=x")
    assert "did you mean validate_only?" in problem(answer, 422, "invalid")["message"]
    assert [topic.name for topic in queue.inspector.topics()] == ["orders"]


def test_what_is_one_value_is_given_once(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    admin = caller("Admin")
    answer = admin.get("/topics/orders/messages?limit=1&limit=2")
    assert problem(answer, 422, "invalid")["fields"] == [{"field": "limit", "problem": "is given more than once"}]


def test_whoever_watches_health_may_add_what_it_likes(caller: Callable[..., Caller]) -> None:
    assert caller("Viewer").get("/health/live?_=1").status_code == 200
