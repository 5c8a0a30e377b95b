"""Commands as bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rmq_core.protocol.scripts import Call, Often, script
from rmq_core.transport.packing import packed, spelled

ARGUMENT = st.text(max_size=20) | st.binary(max_size=20)


@given(st.lists(st.text(max_size=9), min_size=1, max_size=3), st.lists(ARGUMENT, max_size=5), st.lists(ARGUMENT))
def test_a_call_is_the_command_that_it_says(keys: list[str], args: list[str | bytes], fixed: list[str | bytes]) -> None:
    """However its arguments are kept, and at the second time as at the first."""
    one = Call(script("changed"), keys, args, tuple(fixed))
    command = packed(spelled(one.by_sha()))
    often = one._replace(args=Often(args))
    assert [packed(each) for each in (one, one._replace(args=tuple(args)), often, often)] == [command] * 4
