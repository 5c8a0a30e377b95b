"""What waits for its next try is `retrying` in every answer; requests may still say `waiting`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rmq_core import FixedTimeMessage
from tests.console.api.conftest import Caller, problem
from tests.console.api.test_metrics import sample, scrape
from tests.console.conftest import Queue

pytestmark = pytest.mark.django_db


@pytest.fixture
def retrying(queue: Queue) -> str:
    """The id of a message that has failed once and is to be tried again in an hour."""
    queue.topic(max_retries=3, backoff_ms=3_600_000, backoff_max_ms=3_600_000)
    queue.client.send("orders", FixedTimeMessage("x", queue.inspector.now_ms(), key="a"), allow_past=True)
    (delivery,) = queue.client.take("orders", timeout_ms=2000)
    queue.client.nack(delivery, error="KeyError")
    return delivery.id


@pytest.mark.parametrize("asked", ["retrying", "waiting"])
def test_lists_search_and_filters_take_both_names(retrying: str, operator: Caller, asked: str) -> None:
    (row,) = operator.ok("GET", f"/topics/orders/messages?state={asked}")["rows"]
    assert (row["id"], row["state"]) == (retrying, "retrying")
    (found,) = operator.ok("GET", f"/topics/orders/messages:search?text=x&state={asked}")["rows"]
    assert found["state"] == "retrying"
    body = {"filter": {"state": asked, "text": "x"}, "validate_only": True}
    seen = operator.ok("POST", "/topics/orders/messages:cancel", body)
    assert (seen["count"], seen["examples"][0]["state"]) == (1, "retrying")
    operator.ok("GET", f"/topics/orders/records?state={asked}")


def test_answers_never_say_waiting(retrying: str, operator: Caller) -> None:
    (message,) = operator.ok("GET", f"/topics/orders/messages/{retrying}")["messages"]
    assert (message["state"], message["states"]) == ("retrying", ["retrying"])
    counts = operator.ok("GET", "/topics/orders")["counts"]
    assert (counts["backlog"], counts["retrying"]) == (1, 1) and "waiting" not in counts
    slots = operator.ok("GET", "/topics/orders/slots")["slots"]
    assert sum(slot["retrying"] for slot in slots) == 1 and "waiting" not in slots[0]
    body = {"filter": {"state": "waiting", "text": "x"}, "reason": "a test"}
    started = operator.ok("POST", "/topics/orders/messages:cancel", body, status=202)
    assert started["filter"]["state"] == "retrying"


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_samples_and_metrics_say_retrying(retrying: str, operator: Caller, settings: Any) -> None:
    sample(settings)
    (line,) = operator.ok("GET", "/topics")["topics"]
    assert line["numbers"]["retrying"] == 1 and "waiting" not in line["numbers"]
    found = scrape(operator)
    assert found["rmq_retrying", "topic=orders"] == 1 and ("rmq_waiting", "topic=orders") not in found


def test_other_words_are_refused_and_the_description_has_one_name(retrying: str, operator: Caller) -> None:
    problem(operator.get("/topics/orders/messages?state=retry"), 422, "invalid")
    described = operator.get("/openapi.json").json()
    # A row of an outbox waits, and so does what a route has still to forward, or a forecast, a band of a priority or a
    # tenant's turn counts: the whole of it.
    others = ("outbox", "route", "dueforecast", "priorityband", "slotband", "tenantturn")
    paths = {path: each for path, each in described["paths"].items() if not any(word in path for word in others)}
    schemas = described["components"]["schemas"].items()
    said = json.dumps([paths, {name: each for name, each in schemas if not name.lower().startswith(others)}])
    assert '"retrying"' in said and '"waiting"' not in said
