"""What opens doors stays out of logs: the secret of a screen's link, and what comes behind an address's question mark.

It is taken out where servers and Django write down the addresses of requests, whoever started the server.
"""

from __future__ import annotations

import logging
import re

LOGGERS = (
    "console.api", "console.pages", "django.request", "django.security.csrf", "django.server", "uvicorn.access",
    "uvicorn.error",
)  # fmt: skip
HIDDEN = "…"
_LINK = re.compile(r"(?<!/api/v1)(/screens/+)(?!of/)[^/?#\s\"']+")
_QUERY = re.compile(r"(/[^?\s\"']*\?)[^\s\"']+")


def hide_in_logs() -> None:
    """Once a process; nothing that sets up logging later undoes it."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_hide)


def hidden(text: str) -> str:
    """The same without secrets: a signed code of single sign-on, a text that was searched for, a link."""
    return _QUERY.sub(rf"\1{HIDDEN}", _LINK.sub(rf"\1{HIDDEN}", text))


def _hide(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple):
        record.args = tuple(hidden(each) if isinstance(each, str) else each for each in record.args)
    if not record.args and isinstance(record.msg, str):
        record.msg = hidden(record.msg)
    return True
