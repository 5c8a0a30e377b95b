"""The index of the decisions, from their file names and first lines."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "decisions"


def index() -> str:
    """A list, by number."""
    pages = sorted(FOLDER.glob("[0-9]*.md"))
    titles = [(page.name, page.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")) for page in pages]
    return "\n".join(f"- [{title}]({name})" for name, title in titles)
