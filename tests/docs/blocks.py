"""The blocks of code on a page, and the HTML comments that say how they are run.

| comment, in the line before a block | |
|---|---|
| ``<!-- not run: WHY -->`` | it is only checked for its syntax |
| ``<!-- run by: FILE -->`` | another test runs it; at the top of a page: all of the page |
| ``<!-- added to: FILE -->`` | it goes to the end of that file, and is run with it |
| ``<!-- runs on -->`` | it is ended by Ctrl-C once it has printed what the next block says |
| ``<!-- output -->`` | (a ``text`` block) what the block before it prints, in any order |

A block inside a comment is run, too, unseen by readers: it prepares what the page takes for granted.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LANGUAGES = {"python", "sh", "console", "json", "yaml", "toml", "ini", "js", "text"}
_BLOCK = re.compile(
    r"(?:^[ ]*<!-- (?P<how>[^\n]*?)(?:: (?P<what>[^\n]*?))? -->\n+)?"
    r"^(?P<indent>[ ]*)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_WHOLE_PAGE = re.compile(r"\A(?:<!-- .* -->\n)*<!-- run by: (?P<what>.*) -->\n\n")


@dataclass(frozen=True)
class Block:
    """``line`` is the first one of its code; ``how`` and ``what`` are those of the comment before it."""

    page: Path
    line: int
    language: str
    code: str
    how: str = ""
    what: str = ""

    @property
    def where(self) -> str:
        """As an editor opens it."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def file(self) -> str:
        """The name in the first line of a file that the page shows; "" of other blocks."""
        named = re.match(r"# ([\w.-]+\.\w+)\n", self.code)
        return named[1] if named else ""

    @property
    def is_run(self) -> bool:
        """By us, and not only read; or written to a file, to be run with that."""
        return self.language in {"python", "sh", "console"} and self.how not in {"not run", "run by"}


def pages() -> list[Path]:
    """All documents with code that a reader may copy."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """All blocks of a page, from above."""
    text = page.read_text(encoding="utf-8")
    whole = _WHOLE_PAGE.match(text)
    found = []
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code")) + 1
        how, what = match["how"] or "", match["what"] or ""
        if whole and not how:
            how, what = "run by", whole["what"]
        found.append(Block(page, line, match["language"], textwrap.dedent(match["code"]), how, what))
    return found
