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

from docsite import cli, decisions, keys, metrics, rest, settings  # noqa: E402

MARK = re.compile(r"^<!-- generated: ([a-z-]+) -->$", re.MULTILINE)
GENERATORS: Mapping[str, Callable[[], str]] = {
    "commands": cli.commands,
    "decisions": decisions.index,
    "keys-of-slots": keys.of_slots,
    "keys-of-topics": keys.of_topics,
    "environment": settings.environment,
    "options": settings.options,
    "outbox-options": settings.outbox,
    "tasks-options": settings.tasks,
    "metrics": metrics.metrics,
    "rest-routes": rest.routes,
}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """MkDocs' event. An unknown name is a `KeyError`, which stops the build."""
    if page.file.src_uri.startswith("decisions/"):
        page.meta["search"] = {"boost": 0.2}  # who searches wants what is, before why
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]  # it is alone in its part
    return MARK.sub(lambda mark: GENERATORS[mark[1]](), markdown)
