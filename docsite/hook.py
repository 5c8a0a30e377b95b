"""Called by MkDocs for every page: ``<!-- generated: NAME -->`` becomes what the code says of NAME."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:  # MkDocs loads this file by its path
    sys.path.insert(0, str(ROOT))

from docsite import decisions  # noqa: E402

MARK = re.compile(r"^<!-- generated: ([a-z-]+) -->$", re.MULTILINE)
GENERATORS: Mapping[str, Callable[[], str]] = {
    "decisions": decisions.index,
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """MkDocs' event. An unknown name is a `KeyError`, which stops the build."""
    return MARK.sub(lambda mark: GENERATORS[mark[1]](), markdown)
