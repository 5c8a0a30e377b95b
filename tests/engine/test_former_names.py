"""Names that earlier releases had are read where they are stored, and taken from callers with a notice."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from rmq_core import RMQ, MessageFilter, PriorityMessage, Topic, TopicKind
from rmq_core.cli.reading import peek
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import InvalidMessage
from rmq_core.model.states import FORMER_END
from rmq_core.testing import TestQueue

FORMER: Any = "waiting"
NOTICE = rf"ends with release {FORMER_END}"


@pytest.fixture
def queue() -> Iterator[TestQueue]:
    """Three messages that failed once and wait for their next try."""
    with TestQueue() as queue:
        queue.define(Topic("mail", TopicKind.PRIORITY, slots=1, backoff_ms=3_600_000, backoff_max_ms=3_600_000))
        queue.rmq.send_many("mail", [PriorityMessage(text, 20) for text in ("a", "b", "c")])
        queue.rmq.nack(queue.rmq.take("mail", 3), error="KeyError")
        yield queue


def test_the_state_of_what_is_tried_again(queue: TestQueue) -> None:
    with pytest.warns(FutureWarning, match=NOTICE):
        assert MessageFilter(FORMER) == MessageFilter("retrying")
    with pytest.warns(FutureWarning, match=NOTICE):
        assert [row.state for row in queue.inspector.messages("mail", FORMER).rows] == ["retrying"] * 3
    with pytest.warns(FutureWarning, match=NOTICE):
        (found,) = queue.inspector.search("mail", "b", state=FORMER).rows
    assert (found.id, found.state) == ("b", "retrying")
    (sample,) = queue.inspector.sample(["mail"])
    with pytest.warns(FutureWarning, match=NOTICE):
        assert sample.waiting == sample.retrying == 3


def test_stored_filters_and_cursors_go_on_without_a_word(queue: TestQueue) -> None:
    wanted = MessageFilter.from_mapping({"state": FORMER})
    assert wanted == MessageFilter("retrying") and wanted.to_mapping() == {"state": "retrying"}
    first = queue.inspector.select_refs("mail", wanted, limit=1)
    assert first.next_cursor is not None
    inner = _decoded(_decoded(first.next_cursor)[-1])[0]
    assert inner.startswith("mail/waiting/")  # as every release has written it
    rest = queue.inspector.select_refs("mail", wanted, cursor=first.next_cursor)
    assert [ref.id for ref in (*first.refs, *rest.refs)] == ["a", "b", "c"]


def _decoded(cursor: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))


def test_the_command_line_takes_it_with_a_notice(
    redis_server: EmbeddedRedis, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["mail", "--state", FORMER, "--url", redis_server.url, "--namespace", namespace]
    with pytest.raises(Exception, match="not defined"):
        peek.main(given, standalone_mode=False)
    assert "the state waiting is retrying now" in capsys.readouterr().err


def test_how_long_a_client_tries(redis_server: EmbeddedRedis) -> None:
    with pytest.warns(FutureWarning, match=NOTICE), RMQ(redis_server.url, retry_for_s=0.2) as rmq:
        assert rmq.connection.retry_for_ms == 200
    with pytest.raises(InvalidMessage, match="retry_for_ms"):
        RMQ(redis_server.url, retry_for_ms=-1)
