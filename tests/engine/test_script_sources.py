"""How a script is put together of its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from rmq_core.protocol import scripts

FOLDER = Path(scripts.__file__).parent / "lua"
NAMES = sorted(path.stem for path in FOLDER.glob("*.lua"))
OFTEN = ("cycle", "group_cycle", "ack", "nack", "extend", "release", "reap", "takeover")


@pytest.mark.parametrize("name", NAMES)
def test_every_inner_function_ends_with_its_file(name: str) -> None:
    lines = scripts.source(f"{name}.lua").splitlines()
    assert scripts.INNER not in lines
    assert lines.count("return (function()") == lines.count("end)()")
    if scripts.INNER in (FOLDER / f"{name}.lua").read_text().splitlines():
        assert lines[-1] == "end)()"


def test_what_runs_at_each_turn_has_one() -> None:
    """A take of one message then costs the server a quarter less: see `scripts.script`."""
    for name in OFTEN:
        assert scripts.INNER in (FOLDER / f"{name}.lua").read_text().splitlines(), name
