"""Comparisons of JSON contents: what they mean, and that none of them breaks a search."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmq_core.errors import InvalidFilter
from rmq_core.model.comparison import Comparison

CONTENT = {
    "order": {"total": 150, "items": [{"price": 2}, {"price": 9}], "paid": False},
    "country": "DE",
    "true name": "x",
    "größe": 3,
    "note": "a.b > 'c'",
    "nothing": None,
    "json": '{"total": 5}',
    "e2": 1,
    "id": 1234567890123456789,
}
TRUE = [
    "order.total > 100", "order.total>=150 and country == 'DE'", "country == \"DE\" && !(order.total < 100)",
    "order.total == 1.5e2", "order.items[1].price == 9", "order.paid == false", "nothing == null", "country",
    "not missing", "größe == 3", "@['true name'] == 'x'", "note == \"a.b > 'c'\"", "e2 == 1", "e2 < 1e2",
    "length(order.items) == 2", "count(@.order.items[*]) == 2", "country == 'FR' or order.total > 1",
    "$.order.items[?@.price > 3]", "$..price", "$[?@.total > 100]", "  order.total > 100  ",
    "id == 1234567890123456789", "id < 1234567890123456790", "$[?@ == 1234567890123456789]",
    f"id < {10**400}",
]  # fmt: skip
FALSE = [
    "order.total > 150", "missing > 1", "country > 100", "order > 1", "order.total == '150'", "$.missing",
    "not country", "id == 1234567890123456788", "order.paid < 1", "note[0]", "$.json.total",
]  # fmt: skip
WRONG = [
    "order.total >", "order.total = 1", "total > 100)", "$[?", "", "   ", "match(country, 'D.*')",
    "search(country, 'D')",
    "country =~ /D/", "order.items[*].price > 3", "'", "order.total > 100] | $[?@", "a" + ".a" * 5_000 + "[",
]  # fmt: skip


@pytest.mark.parametrize("text", TRUE)
def test_what_holds(text: str) -> None:
    assert Comparison(text).holds(json.dumps(CONTENT).encode())


@pytest.mark.parametrize("text", FALSE)
def test_what_does_not(text: str) -> None:
    assert not Comparison(text).holds(json.dumps(CONTENT).encode())


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_be_read_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidFilter, match=r"order\.total > 100"):
        Comparison(text)


@pytest.mark.parametrize("content", [b"", b"text", b"\xff", b"{", b"[" * 100_000, b"{'a': 1}"])
def test_what_is_no_json_is_counted(content: bytes) -> None:
    comparison = Comparison("a == 1")
    assert not comparison.holds(content) and comparison.not_json == 1


DEEP = b'{"a":' * 90 + b"1" + b"}" * 90
WIDE = json.dumps([{"b": n} for n in range(1_000)]).encode()


@pytest.mark.parametrize(
    ("text", "content"),
    [("$..*..*..*..*..z", DEEP), ("@..a..a..a..a..z", DEEP), ("$" + "['a','a','a']" * 20 + ".z", DEEP),
     ("$..[?count($..*) > 9999]", WIDE), ("$[?count($..[?count($..*) > 9]) > 9999]", WIDE)],
)  # fmt: skip
def test_what_would_take_for_ever_is_refused(text: str, content: bytes) -> None:
    with pytest.raises(InvalidFilter, match="takes too much work"):
        Comparison(text).holds(content)


def test_what_grows_with_the_content_is_looked_at_however_large_that_is() -> None:
    large = json.dumps({"k" * 10_000: [{"price": n} for n in range(20_000)]}).encode()
    for text in ("$..price", "$.*[?@.price == 19999]", "$.*[19999].price", "$..[?@.price == 19999]"):
        assert Comparison(text).holds(large)
    many = " && ".join(f"@.a{n} > {n}" for n in range(20)).replace("&& @.a7", "|| @.a7")
    for small in (
        b"[" + b"1," * 20_000 + b"1]",
        b'[{"a":[' + b'"",' * 20_000 + b"{}]}]",
        b"[" + b"[]," * 20_000 + b"1]",
    ):
        for text in (f"$..[?{many}]", "$..[?@.a > 1 && @.b]", "$..*.none", "$[?@.none == 1]"):
            assert not Comparison(text).holds(small)
    for text in ("$..none", "$.*[*].none", "$..[?@.price > 20000]", "$..*.none"):
        assert not Comparison(text).holds(large)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        comparison = Comparison(text)
    except InvalidFilter:
        return
    comparison.holds(json.dumps(CONTENT).encode())


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), lambda inner: st.lists(inner)
    | st.dictionaries(st.sampled_from(["order", "total", "a"]) | st.text(), inner)))  # fmt: skip
def test_any_content_is_compared(value: object) -> None:
    total = value.get("order") if isinstance(value, dict) else None
    total = total.get("total") if isinstance(total, dict) else None
    over = type(total) in (int, float) and total > 100  # type: ignore[operator]
    assert Comparison("order.total > 100").holds(json.dumps(value).encode()) is over
