"""What leaves the server about a message, and what does not for those who may not read content."""

from __future__ import annotations

import base64
import json

import pytest

from console.access import TokenUser
from console.api.http.callers import Caller
from console.api.rows import messages_of
from console.serializers.messages import CONTENT_SHOWN_BYTES, content_json, row_json
from rmq_core import RangeMergeMessage, TopicKind
from tests.console.conftest import Queue

SECRET = "4111-1111"


def caller(role: str) -> Caller:
    return Caller(TokenUser("test", "prefix", role), "token:1", None)


def test_without_the_permission_no_word_of_the_content_leaves(queue: Queue) -> None:
    queue.topic()
    ident = queue.dead(key="order-1", content=json.dumps({"card": SECRET}))
    (view,) = queue.inspector.find("orders", ident)
    shown = json.dumps([row_json(view.row, payload=False), *messages_of("orders", [view], caller("Viewer"))])
    assert SECRET not in shown
    assert "order-1" in shown  # the key is metadata
    assert "KeyError" in shown
    assert SECRET in json.dumps(messages_of("orders", [view], caller("Payload reader")))


def test_an_inline_messages_id_is_its_content_and_is_masked(queue: Queue) -> None:
    queue.topic("boards", TopicKind.RANGE_MERGE)
    queue.client.send("boards", RangeMergeMessage(SECRET, range_ms=60_000))
    (row,) = queue.inspector.messages("boards", "delayed").rows
    assert row_json(row, payload=False)["id"] is None
    assert row_json(row, payload=True)["id"] == SECRET


@pytest.mark.parametrize(
    ("raw", "text"),
    [(b"plain", "plain"), ("日本".encode(), "日本"), (b"\xff\xfe", None), (b"", "")],
)
def test_content_is_text_where_it_is_utf8_and_always_bytes(raw: bytes, text: str | None) -> None:
    shape = content_json(raw)
    assert shape["text"] == text
    assert base64.b64decode(shape["base64"]) == raw
    assert not shape["truncated"]


def test_large_content_is_cut_between_characters() -> None:
    raw = ("x" + "日" * CONTENT_SHOWN_BYTES).encode()
    shape = content_json(raw)
    assert shape["truncated"] and shape["size"] == len(raw)
    assert raw.decode().startswith(shape["text"])
