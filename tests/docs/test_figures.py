"""No page waits for something that was to be filled in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_mark_is_left(page: Path) -> None:
    assert re.findall(r"@@\w*|\bTODO\b|\bTBD\b|\bFIXME\b|lorem ipsum", page.read_text()) == []
