"""Cursors come from callers: one that nobody gave them is refused in a sentence, whatever it holds."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from rmq_core import MessageFilter, Topic
from rmq_core.errors import InvalidMessage
from rmq_core.queries import by_filter, by_text, paging
from rmq_core.streams import cursors

TOPIC = Topic("work", "priority")
INSIDE = [
    "[" * 6_000,
    "[1,Infinity,1]",
    '["m",Infinity,1,1,""]',
    '["ready","1",Infinity,"00"]',
    "[1e999,1e999,1]",
    "{}",
    "1",
]
READERS: dict[str, Callable[[str], Any]] = {
    "filter": lambda text: by_filter._read_cursor(text, TOPIC, MessageFilter("ready")),
    "text": by_text._read_search_cursor,
    "page": lambda text: paging.Cursor.decode(text, "ready"),
    "stream": lambda text: cursors.Cursor.decode(text, [TOPIC]),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("inside", INSIDE)
def test_what_is_no_cursor_is_refused(reader: str, inside: str) -> None:
    raw = zlib.compress(inside.encode()) if reader == "stream" else inside.encode()
    with pytest.raises(InvalidMessage, match="begin again without it"):
        READERS[reader](base64.urlsafe_b64encode(raw).decode())


def test_a_stream_s_cursor_may_hold_no_infinite_numbers() -> None:
    raw = zlib.compress(b'["-","+",true,Infinity,[["work",1,[]]]]')
    with pytest.raises(InvalidMessage, match="begin again without it"):
        READERS["stream"](base64.urlsafe_b64encode(raw).decode())
