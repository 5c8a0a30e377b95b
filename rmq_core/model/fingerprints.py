"""What failures have in common: a fingerprint that numbers, ids, addresses and quoted values do not change.

One placeholder stands for everything that varies. So a value that is a number in one message and an UUID in the next
does not split a cluster either, and runs of such values (a time, an address, a list of ids) become one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

LENGTH = 16
"""Hex digits of a fingerprint."""

UNKNOWN = "0" * LENGTH
"""The cluster of dead letters whose failure has no fingerprint: they died before there were any."""

OTHER = "f" * LENGTH
"""The cluster of a slot that has too many: whatever dies of something new is counted there."""

LOOKED_AT = 4_000
KEPT = 400
HEX_MIN = 8
"""So many hex digits in a row are an id even without a decimal digit among them."""

_QUOTED = re.compile(
    r"""(?<!\w)[bBrRuU]{0,2}(?:
        "(?:[^"\\\n]|\\.)*"
      | '(?:[^'\\\n]|\\.|(?<=\w)'(?=\w))*'(?!\w)
      | `[^`\n]*`
      | “[^”\n]*” | ‘[^’\n]*’ | «[^»\n]*»
    )""",
    re.VERBOSE,
)
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_QUERY = re.compile(r"(\w://[^\s?]+)\?\S*")
_IPV6 = re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?:%\w+)?(?![\w:])")
_PERSONAL = re.compile(r"((?:/home|/Users|/tmp|/var/tmp|\\Users)[/\\])[^/\\\s:,;)\]}]+")
_JOINED = re.compile(r"""[^\s,;='"`()\[\]{}<>|]+""")
_JOINT = re.compile(r"[/_.:-]+")
_WORD = re.compile(r"[\w-]+")
_DIGIT = re.compile(r"\d")
_HEX = re.compile(r"[0-9A-Fa-f]+")
_RUN = re.compile(r"#(?:[\s.,:;/+_-]{1,3}#)+")
_SPACE = re.compile(r"\s+")


def fingerprint(error: str, message: str) -> str:
    """16 hex digits, the same for failures of one class that differ only in what varies."""
    return _hashed(error[:LOOKED_AT], message[:LOOKED_AT])


@lru_cache(maxsize=512)
def _hashed(error: str, message: str) -> str:
    text = f"{error}\0{normalised(message)}"
    return blake2b(text.encode(errors="replace"), digest_size=LENGTH // 2).hexdigest()


def normalised(text: str) -> str:
    """The text with ``#`` for what varies; its beginning, for what follows tells causes apart no better."""
    text = _QUOTED.sub(_quoted, text[:LOOKED_AT])
    text = _EMAIL.sub("#", text)
    text = _QUERY.sub(r"\1?#", text)
    text = _IPV6.sub("#", text)
    text = _PERSONAL.sub(r"\1#", text)
    text = _JOINED.sub(_joined, text)
    text = _WORD.sub(_word, text)
    text = _SPACE.sub(" ", _RUN.sub("#", text)).strip()
    # Cut only now: before, the length of an id would decide where.
    return text[:KEPT]


def _quoted(match: re.Match[str]) -> str:
    """A key of JSON, or of a printed dict, says what the message is about; every other quoted value varies."""
    before = match.string[: match.start()].rstrip()[-1:]
    after = match.string[match.end() : match.end() + 2].lstrip()[:1]
    return match.group() if after == ":" and before in {"{", ","} else "#"


def _joined(match: re.Match[str]) -> str:
    """What is put together mostly of numbers (``2013-02-08/UA/369/EWR``) is one id, its letters included.

    A path from the root, or with a scheme, is none: its words say what it is about.
    """
    joined = match.group()
    if joined[0] in "/~\\" or "://" in joined or "\\" in joined:
        return joined
    core = joined.rstrip(".:!?/")
    parts = [part for part in _JOINT.split(core) if part]
    numbers = sum(part.isdecimal() for part in parts)
    return "#" + joined[len(core) :] if len(parts) > 2 and numbers * 2 > len(parts) else joined


def _word(match: re.Match[str]) -> str:
    word = match.group()
    varies = _DIGIT.search(word) or (len(word) >= HEX_MIN and _HEX.fullmatch(word))
    return "#" if varies else word
