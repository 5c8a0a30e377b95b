"""What must hold for a message's content, which is JSON: `order.total > 100`, or a JSONPath (RFC 9535)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from rmq_core.errors import InvalidFilter
from rmq_core.figures import number

if TYPE_CHECKING:
    from rmq_core.model.json_paths import Path

EXAMPLES = "order.total > 100, country == 'DE' and not paid, or $.items[?@.price > 3]"
STEPS_LEAST, STEPS_A_BYTE, TEXT_EACH = 10_000, 2, 16
"""What one content may cost: enough for whatever grows with its size and with how many conditions there are (each has
so much text), and not with a power of that."""
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
        self._text = text
        path = text.strip()
        self._is_path = path.startswith("$")
        self._path = _read(path if self._is_path else f"$[?{_PIECES.sub(_piece, path)}]", text)

    def holds(self, content: bytes) -> bool:
        """Whether it does for this content; it does not where that is no JSON. Raises `InvalidFilter` where telling it
        would take far more work than the content is large."""
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            self.not_json += 1
            return False
        # A filter looks at what is in something: here at the content itself.
        looked_at = value if self._is_path else [value]
        steps = STEPS_LEAST + STEPS_A_BYTE * len(content) * (1 + len(self._text) // TEXT_EACH)
        try:
            return self._path.finds(looked_at, steps)
        except TimeoutError:
            raise InvalidFilter(
                "where",
                f"{self._text!r:.80} takes too much work for a content of {number(len(content))} bytes:"
                " write fewer '..'",
            ) from None
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


def _read(path: str, text: str) -> Path:
    try:
        from rmq_core.model import json_paths  # loading it takes longer than all of ours, and few need it
    except ImportError:
        raise InvalidFilter("where", "needs the package python-jsonpath: pip install 'rmq-console[console]'") from None
    try:
        return json_paths.read(path)
    except Exception as error:
        words = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidFilter("where", f"{text!r:.80} cannot be read: {words}. Write for example {EXAMPLES}") from None
