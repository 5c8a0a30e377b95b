"""Which folders of a closing state are merged: a large one seldom, and never many left."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rmq_core.pipeline.state.merging import FOLDERS_MOST, LARGER, newest


def test_a_large_folder_stays_until_what_came_since_is_a_fair_part_of_it() -> None:
    small = {f"{i}": 10 for i in range(1, FOLDERS_MOST + 1)}
    of_small = sum(small.values())
    assert newest(["0", *small], {"0": LARGER * of_small + 1} | small) == [*small]
    assert newest(["0", *small], {"0": LARGER * of_small} | small) == ["0", *small]
    assert newest([*small], small) == [], "few are left as they are"
    assert newest(["0", *small], {"0": 1_000}) == [*small], "folders without anything of the topic"


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=400))
def test_however_many_there_were_few_are_left_and_each_byte_is_seldom_written(sizes: list[int]) -> None:
    folders, bytes_of, written = list[str](), dict[str, int](), 0
    for number, size in enumerate(sizes):
        folders.append(f"{number}")
        bytes_of[f"{number}"] = size
        if merged := newest(folders, bytes_of):
            assert merged == folders[-len(merged) :] and len(merged) >= 2
            bytes_of[f"m{number}"] = sum(bytes_of[each] for each in merged)
            written += bytes_of[f"m{number}"]
            folders = [*folders[: -len(merged)], f"m{number}"]
        assert len(folders) <= FOLDERS_MOST
    assert sum(bytes_of[each] for each in folders) == sum(sizes)
    assert written <= sum(sizes) * 20
