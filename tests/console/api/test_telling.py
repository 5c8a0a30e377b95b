"""What consumers in other languages tell of their messages."""

from __future__ import annotations

import pytest

from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue

TELL = "/topics/orders:tell"


@pytest.fixture
def receipt(queue: Queue, operator: Caller) -> str:
    """Of the second delivery of a message that wants its result kept."""
    queue.topic(max_retries=3, result_for_ms=60_000)
    operator.ok("POST", "/topics/orders/messages", {"content": "a", "delay_ms": 0})
    for outcome in ("nack", "release"):
        (taken,) = operator.ok("POST", "/topics/orders:take", {"wait_ms": 2000})["deliveries"]
        if outcome == "nack":
            operator.ok(
                "POST", "/topics/orders:settle", {"settle": [{"receipt": taken["receipt"], "outcome": outcome}]}
            )
    return str(taken["receipt"])


def test_progress_lines_and_a_result(queue: Queue, operator: Caller, receipt: str) -> None:
    told = [
        {"receipt": receipt, "progress": {"done": 1, "of": 3}},
        {"receipt": receipt, "log": "half", "progress": 0.5},
    ]
    assert [each["status"] for each in operator.ok("POST", TELL, {"tell": told})["results"]] == ["done", "done"]
    report = operator.ok("GET", "/topics/orders/report/a")
    assert (report["progress"], [(line["text"], line["attempt"]) for line in report["lines"]]) == ("0.5", [("half", 2)])
    operator.ok("POST", TELL, {"tell": [{"receipt": receipt, "result": None}]})
    operator.ok("POST", "/topics/orders:settle", {"settle": [{"receipt": receipt}]})
    report = operator.ok("GET", "/topics/orders/report/a")
    assert (report["result"], report["result_ms"] is None) == ("null", False)
    (late,) = operator.ok("POST", TELL, {"tell": [{"receipt": receipt, "log": "too late"}]})["results"]
    assert late["status"] == "stale"


def test_what_is_wrong_is_named(queue: Queue, operator: Caller, receipt: str) -> None:
    found = problem(operator.post(TELL, {"tell": [{"receipt": receipt}]}), 422, "invalid")
    assert "tell something" in str(found)
    found = problem(operator.post(TELL, {"tell": [{"receipt": "q1", "log": "x"}]}), 422, "invalid")
    assert found["fields"][0]["field"] == "tell.0.receipt"
    problem(operator.post(TELL, {"tell": [{"receipt": receipt, "progress": "x" * 70_000}]}), 422, "invalid_message")
