"""What text is: nothing that passes can break what comes after, and whatever is there already can be shown."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmq_core.errors import InvalidTopic
from rmq_core.model.text import NotText, check_name, check_text, check_unicode, cleaned, encodable, is_blank, shown
from rmq_core.model.topic import Topic, TopicKind

ANY = st.text(alphabet=st.characters(exclude_categories=[]), max_size=50)
ODD = ["\ud800", "\udfff", "\x00", "\x1b[2J", "\x85", "\u2028", "\u202e", "\u2066", "\ufffe"]


@given(ANY)
def test_what_is_text_can_be_written_and_what_is_not_is_said_in_text(value: str) -> None:
    for check in (lambda: check_text(value, 40), lambda: check_name(value, 40), lambda: check_unicode(value)):
        try:
            assert check() == value
            value.encode()
        except NotText as error:
            str(error).encode()


@given(ANY)
def test_whatever_is_stored_can_be_shown(value: str) -> None:
    found = shown(value)
    assert check_text(found, 1_000) == found
    assert shown(found) == found  # and stays as it is
    written = json.dumps({"a": value}, ensure_ascii=False)
    assert json.loads(encodable(written).encode()) == {"a": value}


@pytest.mark.parametrize(
    "blank",
    ["", " \t\r\n", "\u00a0\u3000", "\u00ad\u200b\u200c\u200d\u2060\ufeff", "\u2800", "\u115f\u1160\u3164\uffa0",
     "\u034f\u0301\ufe0f", "\u180e\u17b4", "\U000e0001\U000e0041\U000e01ef\U000e0fff", "\U0001d159", "\ufff0"],
)  # fmt: skip
def test_of_what_is_blank_nobody_sees_anything(blank: str) -> None:
    assert is_blank(blank) and is_blank(f" {blank}\u200b")
    assert not is_blank(f"{blank}x{blank}")


# Also what Python does not know yet: a letter or an emoji of a newer Unicode.
@pytest.mark.parametrize(
    "seen", ["x", "-", "0", "…", "好", "א", "e\u0301", "🙂", "❤️", "👩‍🚀", "\ue000", "\U0001faff", "ा"]
)
def test_what_is_seen_is_not_blank(seen: str) -> None:
    assert not is_blank(seen)


@given(st.binary(max_size=50))
def test_bytes_can_be_shown_too(raw: bytes) -> None:
    check_text(shown(raw), 1_000)


@pytest.mark.parametrize("odd", ODD)
def test_what_would_break_or_mislead_is_no_text(odd: str) -> None:
    for check in (check_text, check_name):
        with pytest.raises(NotText, match="must"):
            check(f"a{odd}b", 100)
    with pytest.raises(InvalidTopic, match=r"description must not hold U\+"):
        Topic("a", TopicKind.PRIORITY, description=f"a{odd}b")


def test_lines_and_lengths() -> None:
    assert check_text("two\nlines\tand 漢字　😀 עברית", 40)
    for name in ("two\nlines", "", " x" * 101, None, 7):
        with pytest.raises(NotText):
            check_name(name)
    assert check_name("gate 4 (Zürich) 漢字")
    with pytest.raises(NotText, match="at most 3"):
        check_text("four", 3)


def test_json_values_are_cleaned_all_through() -> None:
    assert cleaned({"a\x00": ["\ud800", {"b": "c"}], "n": 1}) == {"a\\x00": ["\\ud800", {"b": "c"}], "n": 1}


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "[]",
        "7",
        "nonsense",
        "[" * 100_000,
        '{"name": "a"}',
        '{"name": "a", "kind": "pile"}',
        b"\xff",
        '{"a":NaN}',
    ],
)
def test_no_stored_definition_breaks_the_reader(stored: str | bytes) -> None:
    with pytest.raises(InvalidTopic):
        Topic.from_stored(stored)


def test_a_stored_description_of_an_older_release_is_shown() -> None:
    found = Topic.from_stored('{"name":"a","kind":"priority","description":"x\\ud800' + "y" * 2_000 + '"}')
    assert found.description.startswith("x\\ud800y") and len(found.description) == 2_000
