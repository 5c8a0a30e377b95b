"""What nobody should send, sent again where the database is PostgreSQL; and what is deleted at a bad moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.on_postgres import pass_on_postgres

HERE = Path(__file__).parent
ADMIN = HERE / "test_hostile_admin.py"
RUN_S = 400


@pytest.mark.parametrize("tests", [
    [HERE / "api" / "test_nul.py"],
    [ADMIN, "-k", "makes_it_fail or odd_keys or forged"],
    [HERE / "alerts" / "vanishing.py"],
], ids=["rest", "admin", "vanishing"])  # fmt: skip
def test_what_nobody_should_send_to_postgres(tests: list[Path | str]) -> None:
    pass_on_postgres(*tests, within_s=RUN_S)
