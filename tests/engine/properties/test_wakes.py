"""What is said on wake channels, by whomever."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rmq_core.protocol.wakes import Wake, read_wake


@given(st.integers(0, 4_095), st.none() | st.integers(0, 2**53))
def test_what_scripts_say_is_read(slot: int, head: int | None) -> None:
    assert read_wake(f"{slot}".encode() if head is None else f"{slot} {head}".encode()) == Wake(slot, head)


@given(st.binary() | st.text("0123456789 -.e").map(str.encode) | st.integers().map(lambda n: b"1" * (n % 6_000)))
def test_whatever_else_is_said_is_no_error(payload: bytes) -> None:
    wake = read_wake(payload)
    assert wake is None or (wake.slot >= 0 and len(payload) <= 40)
