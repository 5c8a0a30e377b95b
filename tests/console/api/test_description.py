"""The OpenAPI description against what the API does: no 5xx, no answer that is not described."""

from __future__ import annotations

import copy
import functools
from typing import Any

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from django.test import Client
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as effort
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from rmq_core import PriorityMessage, StreamMessage, TopicKind
from tests.console.api.conftest import BASE, make_token, openapi
from tests.console.api.test_metrics import sample
from tests.console.api.test_walk import ROUTES
from tests.console.conftest import Queue

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = effort().max_examples // 10
"""For each operation as many good requests as bad ones: five, or `HYPOTHESIS_PROFILE=long`."""
TOPICS = st.sampled_from(["orders", "orders", "orders", "ranked", "nosuch"])
OF_STREAMS = st.sampled_from(["events", "events", "events@mail", "orders", "nosuch"])
IDS = st.sampled_from(["a", "d", "a%2Fb", "%25ff", "nosuch", "%25zz", "a:run"])
OPERATIONS = sorted((method, f"{BASE}{path}") for method, path in ROUTES)
"""But for those that are open; that these are all is looked at where they are walked."""


@functools.cache
def description() -> Any:
    schema = schemathesis.openapi.from_dict(copy.deepcopy(openapi()))
    schema.app = get_wsgi_application()
    return schema


@pytest.fixture
def stage(queue: Queue, settings: Any) -> Queue:
    queue.topic()
    queue.topic("ranked", TopicKind.PRIORITY)
    queue.client.send("ranked", PriorityMessage("x", 2**20, key="a"))
    queue.delayed("a")
    queue.delayed("a/b")
    queue.dead("d")
    queue.topic("events", TopicKind.STREAM, slots=2)
    queue.client.define_group("events", "mail")
    queue.client.send("events", StreamMessage("x", id="5-1"))
    sample(settings)
    return queue


@pytest.mark.parametrize("method, path", OPERATIONS, ids=[f"{method} {path}" for method, path in OPERATIONS])
def test_whatever_comes_is_answered_as_described(stage: Queue, db: None, method: str, path: str) -> None:
    secret, _ = make_token("Admin", rate_per_minute=1_000_000)
    is_answered_as_described(method, path, {"Authorization": f"Bearer {secret}"})


def test_so_are_those_that_need_no_token(stage: Queue, db: None) -> None:
    paths = openapi()["paths"].items()
    are_open = [(m.upper(), path) for path, each in paths for m, said in each.items() if said.get("security") == []]
    assert are_open and not {*are_open} & {*OPERATIONS}
    for method, path in are_open:
        is_answered_as_described(method, path, {})


def is_answered_as_described(method: str, path: str, headers: dict[str, str]) -> None:
    operation = description()[path][method]
    answered = set()
    # What takes nothing can be given nothing wrong.
    modes = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE][: 2 if headers or "{" in path else 1]
    topics = OF_STREAMS if any(part in path for part in ("/entries", "/groups", ":trim")) else TOPICS

    for mode in modes:

        @effort(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode), topic=topics, ident=IDS)
        def probe(case: Any, topic: str, ident: str) -> None:
            if "topic" in case.path_parameters:
                case.path_parameters["topic"] = topic
            if "id" in case.path_parameters:
                case.path_parameters["id"] = ident
            if isinstance(case.body, dict) and isinstance(case.body.get("wait_ms"), int):
                case.body["wait_ms"] = min(case.body["wait_ms"], 5)
            if isinstance(case.query, dict) and isinstance(case.query.get("wait_ms"), int):
                case.query["wait_ms"] = min(case.query["wait_ms"], 5)
            answer = case.call(headers=headers)
            answered.add(answer.status_code)
            case.validate_response(answer, checks=CHECKS)

        probe()
    assert answered


def test_a_request_for_another_host_is_refused_as_described(db: None) -> None:
    answer = Client().get("/api/v1/me", headers={"host": "elsewhere.example"})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    paths = openapi()["paths"]
    assert [
        (method, path) for method, path in OPERATIONS if "400" not in paths[path][method.lower()]["responses"]
    ] == []


def test_every_operation_has_a_name_of_its_own() -> None:
    paths = openapi()["paths"].values()
    names = [operation["operationId"] for path in paths for operation in path.values() if isinstance(operation, dict)]
    assert len(names) == len(set(names)) > 50
