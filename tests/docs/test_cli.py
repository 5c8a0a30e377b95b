"""docs/reference/cli.md: its table has every command."""

from __future__ import annotations

import re
from pathlib import Path

from console.command import SECTIONS

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "reference" / "cli.md").read_text()


def test_its_table_has_every_command() -> None:
    table = DOCUMENT.partition("| | commands |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`([\w-]+)[^`]*`", table))
    assert named == {name for section in SECTIONS.values() for name in section}
