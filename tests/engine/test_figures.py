"""Numbers in sentences: one place writes them, as the reader has chosen."""

from __future__ import annotations

import ast
import threading
from pathlib import Path

import pytest

from rmq_core.figures import digits, duration, number, separated

ROOT = Path(__file__).parents[2]
FOR_TERMINALS = {"rmq_core/cli", "rmq_core/pipeline", "console/tasks", "console/demo", "console/outbox/management"}
"""What is written there is for the command line, or for the code that called."""
THEIRS = {"rmq_core/figures.py", "console/api/messages/bulk.py"}  # itself; the description of the API


def test_numbers_have_the_separators_of_who_reads_them() -> None:
    assert [number(1_234_567), number(-1_234.56, 1), digits(1_234)] == ["1,234,567", "-1,234.6", "1234"]
    with separated(".", ","):
        assert [number(1_234_567), number(-1_234.56, 1), digits(1_234)] == ["1.234.567", "-1.234,6", "1.234"]
        with separated("\u202f", ","):
            assert number(1_234.5, 1) == "1\u202f234,5"
        assert number(0.5, 1) == "0,5"
    assert number(1_234) == "1,234"


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        *((0, "0 ms"), (999, "999 ms"), (1_000, "1 s"), (1_500, "1,5 s"), (1_949, "1,9 s"), (59_960, "60 s")),
        *((60_000, "1 m"), (117_700, "1 m 58 s"), (3_600_000, "1 h"), (3_660_000, "1 h 1 m")),
        *((90_000_000, "1 d 1 h"), (3_600_000 * 24 * 1_200, "1.200 d")),
    ],
)
def test_durations(ms: int, words: str) -> None:
    with separated(".", ","):
        assert duration(ms) == words


def test_what_one_has_chosen_is_for_no_other_thread() -> None:
    seen: list[str] = []
    with separated(".", ","):
        other = threading.Thread(target=lambda: seen.append(number(1_234)))
        other.start()
        other.join()
    assert seen == ["1,234"]


def test_no_other_module_writes_numbers_for_people() -> None:
    found = []
    for path in [*(ROOT / "rmq_core").rglob("*.py"), *(ROOT / "console").rglob("*.py")]:
        name = path.relative_to(ROOT).as_posix()
        if name in THEIRS or any(name.startswith(f"{each}/") for each in FOR_TERMINALS):
            continue
        found += [f"{name}:{line}" for line in own_ways(ast.parse(path.read_text()))]
    assert found == [], "use rmq_core.figures"


def own_ways(tree: ast.AST) -> list[int]:
    """Lines on which a number gets separators, or a decimal point, on its own."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and isinstance(node.format_spec, ast.JoinedStr):
            parts = [part.value for part in node.format_spec.values if isinstance(part, ast.Constant)]
            text = "".join(map(str, parts))
            found += [node.lineno] * ("," in text or text.endswith("f"))
    return found


def test_this_test_sees_them() -> None:
    assert own_ways(ast.parse('f"{a:,} {b:.1f} {c:%Y} {d:.80}"')) == [1, 1]
