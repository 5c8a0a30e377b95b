"""docs/reference/recurring.md: what it tells to write is what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from console.api.recurring import RecurringBody
from tests.docs.blocks import blocks

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "recurring.md"


def test_its_code_declares_two() -> None:
    names: dict[str, Any] = {}
    (code,) = (block.code for block in blocks(PAGE) if block.language == "python")
    exec(compile(code, str(PAGE), "exec"), names)
    assert [each.name for each in names["RECURRING"]] == ["daily-summary", "tidy"]


def test_its_request_is_one() -> None:
    (command,) = (block.code for block in blocks(PAGE) if block.language == "sh")
    found = re.search(r"-d '(.*)'", command, re.DOTALL)
    assert found is not None
    assert RecurringBody(**json.loads(found[1])).cron == "0 7 * * MON-FRI"


@pytest.mark.parametrize(
    "field", ["name", "topic", "content", "cron", "every_ms", "time_zone", "jitter_ms", "misfire", "expires_ms"]
)
def test_its_table_has_every_field(field: str) -> None:
    assert f"`{field}`" in PAGE.read_text()
