"""Every request with which the pages change something is made where somebody can copy it instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from console.config.environment import BASE_DIR

SCRIPTS = BASE_DIR / "console" / "static" / "console" / "js"
TEMPLATES = BASE_DIR / "console" / "templates" / "console"
API = "core/api.js"
CHANGES = re.compile(r"(?<![\w.])(post|put|patch|remove|once)\((?!.*\) \{$)", re.M)
LOOKS = "validate_only: true"
"""In what is asked for: it only says what would be done."""
OFFERS = {"ask", "planDialog", "atOnce", "copyAs"}
"""What is called within these is copied there."""
FORM = "copyAs"
"""Stands beside a form, and copies what its other buttons do."""
NOT_COPIED = {
    "pages/preferences.js": "of whoever is signed in; a token has its own",
    "topics/favourites.js": "of whoever is signed in; a token has its own",
    "topics/firststeps.js": "two requests; the code for both stands below the button",
}
FETCH = re.compile(r"(?<!async )(?<![\w.])fetch\(")
FETCHES = {API, "release.js", "adminform.js", "pages/screen.js", "pages/alertpreview.js"}
"""Those beside the first only look."""
TEXT = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""", re.DOTALL)
IMPORTED = re.compile(r'^import \{([^}]*)\} from "([^"]*)"', re.M)
HEADS = (
    re.compile(r"function (\w+)\Z"),
    re.compile(r"const (\w+) = (?:async )?\Z"),
    re.compile(r"^  (?!if|for|while|switch|catch)(?:async )?(\w+)\Z", re.M),
)


class Place(NamedTuple):
    path: Path
    at: int

    def __str__(self) -> str:
        line = script(self.path).count("\n", 0, self.at) + 1
        return f"{self.path.relative_to(SCRIPTS).as_posix()}:{line}"


@cache
def script(path: Path) -> str:
    """Without the words of comments and texts, among which may be brackets and names; all else stays in its place."""
    return TEXT.sub(lambda found: re.sub(r"[^\n\"]", " ", found[0]), path.read_text())


@cache
def imports(path: Path) -> dict[str, str]:
    """From where a module has its names."""
    found = IMPORTED.findall(path.read_text())
    return {name: home for names, home in found for name in re.findall(r"\w+(?=\s*(?:,|$))", names)}


def opening(code: str, end: int) -> int:
    """The bracket to which the one before `end` belongs."""
    depth = 0
    for at in range(end - 1, -1, -1):
        depth += (code[at] in ")]}") - (code[at] in "([{")
        if depth == 0:
            return at
    raise AssertionError("a bracket is missing")


def function_before(code: str, at: int) -> str:
    """The name of the function whose body begins here; "" where none does, or it has no name."""
    head = code[:at].rstrip().removesuffix("=>").rstrip()
    if head.endswith(")"):
        head = head[: opening(head, len(head))]
    return next((found[1] for each in HEADS if (found := each.search(head))), "")


def around(code: str, at: int) -> Iterator[tuple[str, str]]:
    """From the inside: what is called, and which functions are written, around a place."""
    line = code[code.rfind("\n", 0, at) + 1 : at]
    if (arrow := line.rfind("=>")) > 0:  # without braces
        yield "function", function_before(code, at - len(line) + arrow + 2)
    depth = 0
    for place in range(at - 1, -1, -1):
        depth += (code[place] in ")]}") - (code[place] in "([{")
        if depth >= 0:
            continue
        depth = 0
        if code[place] == "{":
            yield "function", function_before(code, place)
        elif called := re.search(r"(?<!\.)\b(\w+)$", code[:place]):
            yield "call", called[1]


def whole(code: str, at: int) -> str:
    """A call, from its name to its closing bracket."""
    depth = 0
    for place in range(code.index("(", at), len(code)):
        depth += (code[place] in "([{") - (code[place] in ")]}")
        if depth == 0:
            return code[at:place]
    raise AssertionError("a bracket is missing")


def uses(name: str, home: Path) -> Iterator[Place]:
    """Where a function is called or handed on: in its own module, and in those that have it from there."""
    method = re.search(rf"^  (?:async )?{name}\(.*\{{$", script(home), re.M) is not None
    used = re.compile(rf"(?<=this\.){name}\b" if method else rf"(?<![\w.]){name}\b(?!\s*:)")
    for path in SCRIPTS.rglob("*.js"):
        if path != home and imports(path).get(name, "").rpartition("/")[2] != home.name:
            continue
        for found in used.finditer(script(path)):
            before = script(path)[: found.start()]
            declared = re.search(r"(?:function |const |import \{[^}]*)$", before)
            if not declared and not (method and LOOKS in whole(script(path), found.start())):
                yield Place(path, found.start())


def offers(place: Place, seen: frozenset[str] = frozenset()) -> set[str]:
    """Within which of OFFERS this is, however it is reached; "" where it is reached without."""
    for kind, name in around(script(place.path), place.at):
        if kind == "call" and name in OFFERS and name in imports(place.path):
            return {name}
        if kind == "function" and name in seen:
            return set()  # it calls itself: what matters is who calls it first
        if kind == "function" and name:
            found = [offers(each, seen | {name}) for each in uses(name, place.path)]
            return set().union(*found) if found else {""}
    return {""}


def requests() -> Iterator[Place]:
    for path in sorted(SCRIPTS.rglob("*.js")):
        for found in CHANGES.finditer(script(path)):
            known = imports(path).get(found[1], "").endswith(API)
            if known and LOOKS not in whole(script(path), found.start()):
                yield Place(path, found.start())


def test_every_request_that_changes_something_can_be_copied() -> None:
    wrong = []
    for place in requests():
        found = offers(place)
        module = str(place).partition(":")[0]
        if module not in NOT_COPIED and "" in found and FORM not in found:
            wrong.append(str(place))
    assert not wrong, f"offer it with atOnce, or in a dialog: {wrong}"


def test_nothing_is_asked_for_around_the_api() -> None:
    found = {path for path in SCRIPTS.rglob("*.js") if FETCH.search(script(path))}
    assert {path.relative_to(SCRIPTS).as_posix() for path in found} == FETCHES
    templates = [path for path in TEMPLATES.rglob("*.html") if path.parent.name not in ("admin", "demo")]
    assert templates and not [path.name for path in templates if 'method="post"' in path.read_text().lower()]


def test_what_is_not_copied_is_there() -> None:
    assert set(NOT_COPIED) <= {str(place).partition(":")[0] for place in requests()}


def test_this_test_sees_requests() -> None:
    assert len(list(requests())) > 40
