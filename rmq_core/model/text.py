"""What text is, at every border: it can be written as UTF-8, it shows as what it is, and it has an end.

``check_name``: one printable line, for what ends up in logs, headers and addresses. ``check_text``: what people write,
several lines allowed. ``check_unicode``: an application's own data, anything that can be encoded. All return what they
were given, or raise `NotText`. ``is_blank``: whether a person sees anything of it. ``shown`` is for what is stored
already: whatever it is, it can be written afterwards.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from rmq_core.figures import digits

NAME_MAX = 200

# Controls but for tab and line ends; line ends of typesetting; marks that turn the direction of all that follows;
# halves of characters; code points that are none.
_NEVER = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb\ufffe\uffff]"
)


# Of these alone nothing is seen: blanks, controls, marks without a letter; and what Unicode calls letters, symbols or
# nothing yet, and draws as nothing: fillers, the empty Braille pattern, the null notehead, code points to be ignored.
_UNSEEN_KINDS = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Mn", "Me"})
_UNSEEN = re.compile("[\u115f\u1160\u2065\u2800\u3164\uffa0\ufff0-\ufff8\U0001d159\U000e0000-\U000e0fff]")


class NotText(ValueError):
    """The value is no text that could be kept and shown. The message goes on from the name of the field."""


def check_text(value: Any, most: int, least: int = 0) -> str:
    """What somebody writes: reasons, descriptions. ``least`` and ``most`` count characters."""
    found = _bounded(value, most, least)
    odd = _NEVER.search(found)
    if odd:
        raise NotText(f"must not hold {_named(odd[0])}")
    return found


def is_blank(value: str) -> bool:
    """Whether nobody sees anything of it, as of U+200B or U+2800: that is no reason, whatever its length."""
    return all(unicodedata.category(each) in _UNSEEN_KINDS or _UNSEEN.match(each) for each in value)


def check_name(value: Any, most: int = NAME_MAX, least: int = 1) -> str:
    """A name: printable characters and blanks, in one line."""
    found = _bounded(value, most, least)
    odd = next((each for each in found if not each.isprintable()), None)
    if odd is not None:
        raise NotText(f"must be printable, in one line; it holds {_named(odd)}")
    return found


def check_unicode(value: Any) -> str:
    """Anything that can be written as UTF-8."""
    if not isinstance(value, str):
        raise NotText(f"must be text, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise NotText(unencodable(error)) from None
    return value


def unencodable(error: UnicodeEncodeError) -> str:
    """What is wrong, as `NotText` says it."""
    return f"must not hold {_named(error.object[error.start])}"


def check_arguments(given: Sequence[str]) -> None:
    """What a program was started with: bytes that are no UTF-8 come as lone surrogates."""
    for position, each in enumerate(given, 1):
        try:
            check_unicode(each)
        except NotText as error:
            raise NotText(f"argument {position} ({shown(each, 100)}) {error}") from None


def shown(value: str | bytes, most: int | None = None) -> str:
    """Text as it can be written and shown: whatever may not be in it is spelled out (``\\ud800``)."""
    text = value if isinstance(value, str) else value.decode(errors="backslashreplace")
    text = _NEVER.sub(lambda odd: _spelled(odd[0]), text)
    return text if most is None else text[:most]


def worded(value: object, most: int = 80) -> str:
    """A value as an error names it; some have no `repr` (a number of 5,000 digits, a mock that raises)."""
    try:
        return shown(repr(value)[:most])
    except Exception:
        return f"<{type(value).__name__}>"


def encodable(value: str) -> str:
    """JSON or a file's line with lone surrogates spelled out, which in JSON is the same value."""
    if value.isascii():
        return value
    return value.encode(errors="backslashreplace").decode()


def cleaned(value: Any) -> Any:
    """A JSON value in which every text is `shown`: what a database of any kind can keep."""
    match value:
        case str():
            return shown(value)
        case dict():
            return {shown(str(name)): cleaned(each) for name, each in value.items()}
        case list() | tuple():
            return [cleaned(each) for each in value]
    return value


def _bounded(value: Any, most: int, least: int) -> str:
    if not isinstance(value, str):
        raise NotText(f"must be text, not {type(value).__name__}")
    if len(value) > most or len(value) < least:
        bounds = f"at most {digits(most)}" if not least else f"{least} to {digits(most)}"
        raise NotText(f"must be text of {bounds} characters, not {digits(len(value))}")
    return value


def _named(character: str) -> str:
    half = "\ud800" <= character <= "\udfff"
    return f"U+{ord(character):04X}, {'a lone surrogate' if half else 'a character that cannot be shown'}"


def _spelled(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
