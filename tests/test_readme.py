"""What README names is there; its code is run by `tests.docs`."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_every_document_it_names_is_there() -> None:
    named = re.findall(r"`([\w./-]+(?:\.md|\.yml|\.py|\.txt|\.example|/))`", README)
    named += re.findall(r"\]\(([^)#:]+)\)", README)
    made_at_run_time = {"var/", "build/site/"}
    assert [name for name in named if not (ROOT / name).exists() and name not in made_at_run_time] == []
    assert len(named) > 15


def test_every_room_is_named() -> None:
    named = set(re.findall(r"`([\w/]+)/`", README))
    rooms = {f"{top}/{folder.name}" for top in ("rmq_core", "console") for folder in (ROOT / top).iterdir()}
    lie_there = {each for each in rooms if any((ROOT / each).glob("*.py"))}
    assert lie_there - named == {"console/management"}, "the table of folders says where what is"
