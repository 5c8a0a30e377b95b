"""Panels of a screen, as they are written: a line each, an empty line begins the next page. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.utils.translation import gettext

from console.converters import TopicName

PAGES_MOST, PANELS_MOST = 20, 12
KINDS = ("figures", "chart", "heatmap", "topics", "problems", "alerts")
OF_TOPIC = ("chart", "heatmap")
METRICS = {
    "chart": (
        "backlog", "ready", "retrying", "in_flight", "dead", "lag_ms", "oldest_ms", "in_s", "out_s", "failed_s", "p99",
    ),
    "heatmap": ("backlog", "lag_ms", "oldest_ms", "in_flight", "dead", "out_s"),
}  # fmt: skip
_PATTERN = r"[A-Za-z0-9_.*?@-]{1,201}"


class InvalidPanels(ValueError):
    """A line that is no panel."""


@dataclass(frozen=True)
class Panel:
    """`topic`: a name; of figures "" for all together; of topics and problems a pattern."""

    kind: str
    topic: str = ""
    metric: str = ""


def pages_of(text: str) -> list[list[Panel]]:
    """Raises `InvalidPanels`, naming the line."""
    pages: list[list[Panel]] = [[]]
    for number, line in enumerate(text.splitlines(), 1):
        if not (words := line.split()):
            if pages[-1]:
                pages.append([])
            continue
        pages[-1].append(_panel(number, words))
        if len(pages[-1]) > PANELS_MOST:
            raise InvalidPanels(gettext("A page has at most %(n)s panels.") % {"n": PANELS_MOST})
    found = [page for page in pages if page]
    if not found:
        raise InvalidPanels(gettext("Write at least one panel."))
    if len(found) > PAGES_MOST:
        raise InvalidPanels(gettext("A screen has at most %(n)s pages.") % {"n": PAGES_MOST})
    return found


def _panel(number: int, words: list[str]) -> Panel:
    kind, rest = words[0].lower(), words[1:]
    most = {"figures": 1, "chart": 2, "heatmap": 2, "topics": 1, "problems": 1}.get(kind, 0)
    if kind not in KINDS or len(rest) > most or (kind in OF_TOPIC and not rest):
        raise _wrong(number, " ".join(words))
    topic = rest[0] if rest else ""
    metric = rest[1] if len(rest) > 1 else "backlog" if kind in OF_TOPIC else ""
    if metric and metric not in METRICS[kind]:
        raise InvalidPanels(
            gettext("Line %(n)s: there is no %(metric)s; choose one of %(names)s.")
            % {"n": number, "metric": metric, "names": ", ".join(METRICS[kind])}
        )
    named = kind in OF_TOPIC or kind == "figures"
    if topic and re.fullmatch(TopicName.regex if named else _PATTERN, topic) is None:
        raise _wrong(number, " ".join(words))
    return Panel(kind, topic, metric)


def _wrong(number: int, line: str) -> InvalidPanels:
    words = {"n": number, "line": line[:60], "kinds": ", ".join(KINDS)}
    return InvalidPanels(gettext("Line %(n)s is no panel: “%(line)s”. It begins with one of %(kinds)s.") % words)
