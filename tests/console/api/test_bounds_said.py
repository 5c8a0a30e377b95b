"""What no message can have is refused over REST in a sentence, and never by a failure of ours."""

from __future__ import annotations

import pytest

from tests.console.api.conftest import Caller
from tests.console.conftest import Queue

LAST = '{"topic":"orders","content":"x","in_ms":0}'
ONE = '{"topic":"orders","content":"x","in_ms":0,"if_done":'


@pytest.mark.parametrize(("length", "status"), [(25, 200), (100, 422), (400, 422), (5_000, 422)])
def test_a_chain_is_bounded(queue: Queue, operator: Caller, length: int, status: int) -> None:
    """Each of `length` is followed by another."""
    queue.topic()
    body = f'{{"content":"a","delay_ms":0,"if_done":{ONE * length}{LAST}{"}" * length}}}'
    answer = operator("POST", "/topics/orders/messages", body.encode())
    assert answer.status_code == status, answer.content
    assert status == 200 or b"deep" in answer.content or b"nested" in answer.content


def test_a_tenant_that_nobody_can_name_is_refused(queue: Queue, operator: Caller) -> None:
    queue.topic()
    answer = operator("POST", "/topics/orders/messages", {"content": "a", "delay_ms": 0, "tenant": "a\0b"})
    assert answer.status_code == 422 and b"U+0000" in answer.content


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"content": "a", "delay_ms": ' + "9" * 5_000 + "}", b"too large"),
        ('\ufeff{"content": "a", "delay_ms": 0}', b"without a byte order mark"),
    ],
    ids=["5,000 digits", "a byte order mark"],
)
def test_what_is_no_json_here_is_said_in_our_words(queue: Queue, operator: Caller, body: str, words: bytes) -> None:
    queue.topic()
    answer = operator("POST", "/topics/orders/messages", body.encode())
    assert answer.status_code == 422 and words in answer.content
    assert b"sys." not in answer.content and b"decode" not in answer.content
