"""The comparisons with others: whoever doubts a cell finds which documents it is from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs/explanation" / name for name in ("beside-other-consoles.md", "beside-other-queues.md")]
by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(page: Path) -> list[list[str]]:
    """Its rows, the head first, without the line of dashes."""
    rows = [cells(line) for line in page.read_text().splitlines() if line.startswith("|")]
    assert len(rows) > 20
    return [rows[0], *rows[2:]]


@by_page
def test_each_product_names_its_documents(page: Path) -> None:
    _, found, sources = page.read_text().partition("\n## Where this is from\n")
    assert found
    head, *parts = re.split(r"^### ", sources, flags=re.MULTILINE)
    assert "read in" in head
    named = {part.partition("\n")[0]: part for part in parts}
    others = table(page)[0][2:]
    assert list(named) == others
    assert [product for product, part in named.items() if "](https://github.com/" not in part] == []


@by_page
def test_each_row_has_a_cell_for_each_product_and_each_note_is_there(page: Path) -> None:
    head, *rows = table(page)
    assert [row[0] for row in rows if len(row) != len(head)] == []
    noted = set(re.findall(r"\[(\d+)\]", "".join(cell for row in rows for cell in row)))
    assert noted == set(re.findall(r"^(\d+)\. ", page.read_text(), flags=re.MULTILINE))
