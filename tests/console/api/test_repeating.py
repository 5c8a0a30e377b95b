"""Idempotency keys and rate limits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.api.http import idempotency, limits
from console.models import ApiToken, AuditEntry, KeptAnswer
from rmq_core import RMQ
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue

SEND = "/topics/orders/messages"
MESSAGE = {"content": "a", "delay_ms": 60_000}


def test_the_same_key_gets_the_same_answer(queue: Queue, operator: Caller) -> None:
    queue.topic()
    first = operator.post("/topics/orders:pause", {}, Idempotency_Key="k1")
    queue.control.resume("orders")
    again = operator.post("/topics/orders:pause", {}, Idempotency_Key="k1")
    assert again.content == first.content and again.status_code == 200
    assert again["Idempotent-Replayed"] == "true" and "Idempotent-Replayed" not in first
    assert not queue.inspector.topics()[0].paused  # it was not done again
    assert AuditEntry.objects.filter(action="pause").count() == 1


def test_refusals_are_kept_too_but_not_those_that_pass(queue: Queue, operator: Caller) -> None:
    first = operator.post(SEND, MESSAGE, Idempotency_Key="k")
    problem(first, 404, "unknown_topic")
    queue.topic()
    again = operator.post(SEND, MESSAGE, Idempotency_Key="k")
    assert (again.status_code, again.content) == (404, first.content)
    assert operator.post(SEND, MESSAGE, Idempotency_Key="k2").status_code == 200


def test_another_request_with_the_key_is_refused(queue: Queue, operator: Caller) -> None:
    queue.topic()
    assert operator.post(SEND, MESSAGE, Idempotency_Key="k").status_code == 200
    other = {**MESSAGE, "content": "b"}
    problem(operator.post(SEND, other, Idempotency_Key="k"), 422, "idempotency_key_reused")
    problem(operator.post(f"{SEND}?x=1", MESSAGE, Idempotency_Key="k"), 422, "idempotency_key_reused")
    problem(operator.post("/topics/orders:take", MESSAGE, Idempotency_Key="k"), 422, "idempotency_key_reused")


def test_all_that_changes_something_may_be_repeated(queue: Queue, caller: Callable[..., Caller]) -> None:
    editor, admin = caller("Editor"), caller("Admin")
    queue.topic()
    version = editor.get("/topics/orders")["ETag"]
    change = {"max_retries": 3}
    first = editor("PUT", "/topics/orders", change, If_Match=version, Idempotency_Key="k")
    again = editor("PUT", "/topics/orders", change, If_Match=version, Idempotency_Key="k")
    assert (again.status_code, again.content, again["ETag"]) == (200, first.content, first["ETag"])
    assert AuditEntry.objects.count() == 1
    # The same change of another version is another one.
    other = editor("PUT", "/topics/orders", change, If_Match=first["ETag"], Idempotency_Key="k")
    problem(other, 422, "idempotency_key_reused")
    for _ in range(2):
        assert admin("DELETE", "/topics/orders?reason=gone", Idempotency_Key="gone").status_code == 200


def test_keys_belong_to_their_caller(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    for each in (caller("Operator"), caller("Operator")):
        answer = each.post(SEND, MESSAGE, Idempotency_Key="same")
        assert answer.status_code == 200 and "Idempotent-Replayed" not in answer


def test_while_the_first_is_under_way_the_second_waits(queue: Queue, operator: Caller) -> None:
    queue.topic()
    operator.post(SEND, MESSAGE, Idempotency_Key="k")
    KeptAnswer.objects.update(status=None)
    answer = operator.post(SEND, MESSAGE, Idempotency_Key="k")
    problem(answer, 409, "in_progress")
    assert answer["Retry-After"] == "1"
    KeptAnswer.objects.update(started_at=timezone.now() - idempotency.ABANDONED)
    assert operator.post(SEND, MESSAGE, Idempotency_Key="k").status_code == 200


def test_a_day_later_the_key_is_new(queue: Queue, operator: Caller) -> None:
    queue.topic()
    operator.post(SEND, MESSAGE, Idempotency_Key="k")
    operator.post(SEND, MESSAGE, Idempotency_Key="old")
    KeptAnswer.objects.update(started_at=timezone.now() - idempotency.KEPT_FOR - timedelta(seconds=1))
    answer = operator.post(SEND, {**MESSAGE, "content": "b"}, Idempotency_Key="k")
    assert answer.status_code == 200 and "Idempotent-Replayed" not in answer
    assert list(KeptAnswer.objects.values_list("key", flat=True)) == ["k"]  # and the other was swept away


def test_what_failed_may_be_tried_again(
    queue: Queue, operator: Caller, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    queue.topic()
    with monkeypatch.context() as broken:
        broken.setattr("console.api.topics.status.perform", lambda *_: 1 / 0)
        problem(operator.post("/topics/orders:pause", {}, Idempotency_Key="k"), 500, "internal")
    assert operator.post("/topics/orders:pause", {}, Idempotency_Key="k").status_code == 200


def test_an_answer_too_large_to_keep_is_not_given_twice(
    queue: Queue, operator: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "BODY_MAX", 10)
    queue.topic()
    assert operator.post(SEND, MESSAGE, Idempotency_Key="k").status_code == 200
    problem(operator.post(SEND, MESSAGE, Idempotency_Key="k"), 409, "answer_not_kept")


def test_an_answer_is_not_told_to_who_may_do_less_by_now(queue: Queue, operator: Caller) -> None:
    queue.topic()
    operator.ok("POST", SEND, {**MESSAGE, "delay_ms": 0})
    take = {"max": 1, "wait_ms": 2_000}
    first = operator.post("/topics/orders:take", take, Idempotency_Key="k")
    assert [each["content"] for each in first.json()["deliveries"]] == ["a"]
    for less, more in (({"role": "Viewer"}, {"role": "Operator"}), ({"topics": "mail"}, {"topics": "*"})):
        ApiToken.objects.update(**less)
        refused = operator.post("/topics/orders:take", take, Idempotency_Key="k")
        assert "status 200" in problem(refused, 409, "answer_not_kept")["message"]
        ApiToken.objects.update(**more)
        assert operator.post("/topics/orders:take", take, Idempotency_Key="k").content == first.content
    KeptAnswer.objects.update(headers={})  # of an earlier release
    assert operator.post("/topics/orders:take", take, Idempotency_Key="k").content == first.content


@pytest.mark.parametrize("key", ["", "a b", "x" * 201, "ü"])
def test_a_key_is_a_word(queue: Queue, operator: Caller, key: str) -> None:
    queue.topic()
    found = problem(operator.post(SEND, MESSAGE, Idempotency_Key=key), 422, "invalid")
    assert found["fields"][0]["field"] == "Idempotency-Key"
    assert not KeptAnswer.objects.exists()


def test_only_posts_have_keys(queue: Queue, operator: Caller) -> None:
    assert operator.get("/me", Idempotency_Key="a b").status_code == 200


def test_more_than_the_token_allows_has_to_wait(queue: Queue, caller: Callable[..., Caller]) -> None:
    slow, other = caller("Viewer", rate_per_minute=5), caller("Viewer", rate_per_minute=5)
    statuses = [slow.get("/me").status_code for _ in range(9)]
    # A minute may have begun in between; then some of the first five are forgotten little by little.
    assert statuses[:5] == [200] * 5 and 429 in statuses
    answer = slow.get("/me")
    problem(answer, 429, "too_many_requests")
    assert 1 <= int(answer["Retry-After"]) <= 60 + 12
    assert other.get("/me").status_code == 200


def test_the_limit_slides(queue: Queue, namespace: str) -> None:
    run: Callable[..., limits.Spent] = queue.client.run
    start = 60_000.0

    def spend(at_s: float) -> int:
        return run(limits.spend(namespace, "t", 10, start + at_s)).wait_s

    assert [spend(0) for _ in range(10)] == [0] * 10
    assert spend(15) == 45 + 6  # until the next minute begins, and one of the ten no longer counts
    # Then ten sixtieths of the last minute's go with every second.
    assert spend(60 + 1) > 0
    wait = spend(60 + 1)
    assert spend(60 + 1 + wait) == 0
    assert spend(60 + 1 + wait) > 0
    assert [spend(180) for _ in range(11)].count(0) == 10


@pytest.mark.parametrize("per_minute", [1, 2, 3, 7, 60, 1_000])
def test_who_waits_as_told_is_let_in(queue: Queue, namespace: str, per_minute: int) -> None:
    at_s = 60_000.0
    for gap_s in (0.0, 12.5, 59.9):
        at_s += gap_s
        while not (told := queue.client.run(limits.spend(namespace, "t", per_minute, at_s))).wait_s:
            pass
        assert told.left == 0
        at_s += told.wait_s
        assert queue.client.run(limits.spend(namespace, "t", per_minute, at_s)).wait_s == 0


def test_refused_requests_do_not_count(queue: Queue, namespace: str) -> None:
    def spend(client: RMQ) -> int:
        return client.run(limits.spend(namespace, "t", 2, 60_000.0)).wait_s

    assert [spend(queue.client) > 0 for _ in range(50)] == [False, False] + [True] * 48
    (count,) = queue.client.run(_get(f"{namespace}:console:rate:t:1000"))
    assert int(count) == 2


def _get(key: str) -> Any:
    return (yield [("GET", key)])
