"""What varies in a failure's words does not split a cluster; what is said does."""

from __future__ import annotations

import ipaddress
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rmq_core.model.fingerprints import KEPT, LENGTH, OTHER, UNKNOWN, fingerprint, normalised
from rmq_core.protocol.scripts import script

SAME = [
    ("user 17 has no order", "user 4711 has no order"),
    ("took 3.5 s", "took 1,204.25 s"),
    ("took -1 s", "took 1e-9 s"),
    ("no such row: 550e8400-e29b-41d4-a716-446655440000", "no such row: 9b2c1f3e-0000-4abc-8def-aaaaaaaaaaaa"),
    ("<ActionRequest object at 0x7f00aa>", "<ActionRequest object at 0x7ffe12345678>"),
    ("commit deadbeefcafe is gone", "commit 0a1b2c3d4e5f is gone"),
    ("cannot reach 10.0.0.1:8080", "cannot reach 192.168.100.200:443"),
    ("cannot reach fe80::abcd:1", "cannot reach 2001:db8::ffff:ace"),
    ("from aa:bb:cc:dd:ee:ff", "from 00:11:22:33:44:55"),
    ("no mailbox for alice@example.com", "no mailbox for b.c+d@mail.example.co.uk"),
    ("KeyError: 'price'", "KeyError: 'name of it'"),
    ('bad value "a \\" b"', 'bad value "c"'),
    ("bad value 'O'Brien'", "bad value 'Smith'"),
    ("bad value b'\\xff'", "bad value 'x'"),
    ("no table `orders`", "no table `customers`"),
    ("unknown “name”", "unknown “other”"),
    ("'abc': not found", "'d': not found"),
    ("at 2026-11-21T10:00:00Z it stopped", "at 2026-11-21 19:12:37.123+01:00 it stopped"),
    ("ids [1, 2, 3] are gone", "ids [4] are gone"),
    ("GET https://api.example.com/users/1/orders?x=abc failed", "GET https://api.example.com/users/22/orders?q failed"),
    ("cannot open /var/data/2026/11/21/file-1.csv", "cannot open /var/data/2025/01/02/file-77.csv"),
    ("cannot open /home/alice/x.py", "cannot open /home/bob/x.py"),
    ("cannot open C:\\Users\\alice\\x", "cannot open C:\\Users\\bob\\x"),
    ("cannot open /tmp/tmpab3x_9/x", "cannot open /tmp/qwerty/x"),
    ('{"code": "x1", "ids": [1, 2]}', '{"code": "other", "ids": [3]}'),
    ("two\n   lines 1", "two lines 2"),
    ("no tail number: 2013-02-08/UA/369/EWR", "no tail number: 2013-12-31/9E/3393/JFK"),
    ("2013-02-08/B6/1/LGA: no arrival time.", "2013-07-04/AA/1831/EWR: no arrival time."),
    ("flight=2013-02-08/US/17/LGA;", "flight=2013-01-01/DL/4/JFK;"),
    ("at step 3.14.15/a", "at step 9.8.7/b"),
]
DIFFERENT = [
    ("no such user", "no such order"),
    ("connection refused", "connection reset"),
    ('{"code": "a"}', '{"reason": "a"}'),
    ("std::bad_alloc", "std::bad_cast"),
    ("can't connect", "can't disconnect"),
    ("/var/data/a.csv", "/var/log/a.csv"),
    ("in /app/v2/worker.py", "in /app/v2/runner.py"),
    ("in app/v2/worker.py", "in app/v2/runner.py"),
    ("in /data/2026/11/21/in.csv", "in /data/2026/11/21/out.csv"),
    ("in data/2026/11/21/in.csv", "in data/2026/11/21/out.csv"),
    ("https://a.example/2026/11/21/4/orders", "https://a.example/2026/11/21/4/users"),
    ("C:\\data\\2026\\in.csv", "C:\\data\\2026\\out.csv"),
    ("step 1-a of import", "step 1-a of export"),
]

words = st.text(st.characters(codec="utf-8"), max_size=200)
varying = st.one_of(
    st.integers(0, 10**12).map(str),
    st.floats(0, 1e9, allow_nan=False).map(lambda value: f"{value:.3f}"),
    st.uuids().map(str),
    st.integers(2**32, 2**64).map(hex),
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(lambda address: ipaddress.IPv6Address(address).exploded),
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.text(st.characters(codec="ascii", exclude_characters="'\\\n", exclude_categories=["Cc"])).map(
        lambda text: f"'{text}'"
    ),
)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_varies_does_not_split_a_cluster(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)
    assert fingerprint("E", one) == fingerprint("E", other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_is_said_does(one: str, other: str) -> None:
    assert fingerprint("E", one) != fingerprint("E", other)


def test_the_class_counts() -> None:
    assert fingerprint("TypeError", "a") != fingerprint("ValueError", "a")


@given(varying, varying)
def test_any_value_in_the_place_of_any_other(one: str, other: str) -> None:
    assert fingerprint("E", f"order {one} is late") == fingerprint("E", f"order {other} is late")


@given(words, words)
@example("\ud800", "")
def test_any_text_has_one(error: str, message: str) -> None:
    found = fingerprint(error, message)
    assert re.fullmatch(rf"[0-9a-f]{{{LENGTH}}}", found)
    assert found not in {UNKNOWN, OTHER}
    assert fingerprint(error, message) == found
    assert len(normalised(message)) <= KEPT


def test_where_a_long_text_is_cut_does_not_depend_on_its_ids() -> None:
    one, other = (f"{ident} " + "said again and again " * 40 for ident in ("1", "123456789" * 9))
    assert len(one) > KEPT
    assert fingerprint("E", one) == fingerprint("E", other)


def test_the_scripts_use_the_same_for_what_they_write_themselves() -> None:
    assert fingerprint("Timeout", "not settled within 30000 ms") in script("cycle").text
    assert fingerprint("OwnerLost", "its worker lost the slot before settling it") in script("takeover").text
