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


def _any(word: str) -> str:
    """A word in an address in all the ways it may be written: in capitals, percent-encoded, that once more."""
    return "".join(f"(?:{re.escape(each)}|%(?:25)*{ord(each):x}|%(?:25)*{ord(each.upper()):x})" for each in word)


_SLASH, _ASKED = _any("/"), _any("?")
_LINE = r"(?: HTTP/\d(?:\.\d)?(?:\"? \d{3}\b.*)?)?\Z"
"""What comes behind the address: nothing, or what a request's line ends with."""
_HOW = re.IGNORECASE | re.DOTALL
_LINK = re.compile(
    rf"({_SLASH}{_any('screens')}{_SLASH}+)(?!{_any('of')}{_SLASH}).+?({_SLASH}?(?:{_ASKED}.*)?{_LINE})", _HOW
)
_QUERY = re.compile(rf"\A([^/]*/.*?{_ASKED}).+?({_LINE})", _HOW)


def hide_in_logs() -> None:
    """Once a process; nothing that sets up logging later undoes it."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_hide)


def hidden(text: str) -> str:
    """The same without secrets: a signed code of single sign-on, a text that was searched for, a link.

    An address is the last thing in a text: whatever stands in one, quotes and blanks too, it has no other end.
    """
    return _QUERY.sub(rf"\1{HIDDEN}\2", _LINK.sub(rf"\1{HIDDEN}\2", text))


def _hide(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple):
        record.args = tuple(hidden(each) if isinstance(each, str) else each for each in record.args)
    if not record.args and isinstance(record.msg, str):
        record.msg = hidden(record.msg)
    return True
