"""A test that a page names is there: what is said to be held must be held by something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
RELIABILITY = ROOT / "docs/explanation/reliability.md"
NAMED = re.compile(r"`(tests/[\w/.]+|test_\w+\.py)`")


def named(text: str) -> Iterator[Path]:
    """Paths in a text; a bare name is in the folder of the one before it."""
    folder = ROOT / "tests"
    for name in NAMED.findall(text):
        path = ROOT / name if name.startswith("tests/") else folder / name
        folder = path if path.suffix == "" else path.parent
        yield path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_it_is_there(page: Path) -> None:
    assert [str(path.relative_to(ROOT)) for path in named(page.read_text()) if not path.exists()] == []


def test_every_class_of_fault_names_what_holds_it() -> None:
    _, _, table = RELIABILITY.read_text().partition("## What was tried, class by class")
    rows = [line for line in table.partition("\n### ")[0].splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 40
    assert [row for row in rows if not list(named(row))] == []
