"""What must hold for a message's content, which is JSON: `order.total > 100`, or a JSONPath (RFC 9535)."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING

from rmq_core.errors import InvalidFilter

if TYPE_CHECKING:
    from jsonpath import CompoundJSONPath, JSONPath, JSONPathEnvironment

EXAMPLES = "order.total > 100, country == 'DE' and not paid, or $.items[?@.price > 3]"
_PIECES = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<![\w.$@])[^\W\d]\w*(?!\w|\s*\()""")
"""Texts, which stay as they are, and the first names of paths."""
_WORDS = {"and": "&&", "or": "||", "not": "!"}
_VALUES = frozenset(("true", "false", "null"))


class Comparison:
    """A comparison that has been read. ``not_json``: how many contents it has met that are no JSON.

    Without a ``$`` at its beginning, its names are those of the content, an object. A path alone holds where there is
    something. Raises `InvalidFilter`.
    """

    def __init__(self, text: str) -> None:
        self.not_json = 0
        path = text.strip()
        self._is_path = path.startswith("$")
        self._path = _read(path if self._is_path else f"$[?{_PIECES.sub(_piece, path)}]", text)

    def holds(self, content: bytes) -> bool:
        """Whether it does for this content; it does not where that is no JSON."""
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            self.not_json += 1
            return False
        try:
            # A filter looks at what is in something: here at the content itself.
            return self._path.match(value if self._is_path else [value]) is not None
        except Exception:  # nested too deep, and whatever else a path meets in somebody's data
            return False


def check(text: str) -> None:
    """Raises `InvalidFilter` for what is no comparison."""
    Comparison(text)


def _piece(found: re.Match[str]) -> str:
    word = found[0]
    if word[0] in "'\"" or word in _VALUES:
        return word
    return _WORDS.get(word) or f"@.{word}"


@cache
def _environment() -> JSONPathEnvironment:
    try:
        from jsonpath import JSONPathEnvironment  # loading it takes longer than all of ours, and few need it
    except ImportError:
        raise InvalidFilter("where", "needs the package python-jsonpath: pip install 'rmq-console[console]'") from None
    environment = JSONPathEnvironment(strict=True)
    for name in ("match", "search"):  # a pattern can take for ever
        environment.function_extensions.pop(name, None)
    return environment


def _read(path: str, text: str) -> JSONPath | CompoundJSONPath:
    environment = _environment()
    try:
        return environment.compile(path)
    except Exception as error:
        words = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidFilter("where", f"{text!r:.80} cannot be read: {words}. Write for example {EXAMPLES}") from None
