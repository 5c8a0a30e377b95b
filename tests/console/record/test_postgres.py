"""The same tests of the record, and of how the history is written, again, on PostgreSQL."""

from __future__ import annotations

from pathlib import Path

from tests.support.on_postgres import pass_on_postgres

HERE = Path(__file__).parent
RUN_S = 200


def test_the_record_on_postgres() -> None:
    tests = [HERE / name for name in ("test_intake.py", "test_follow.py", "test_reading.py")]
    tests.append(HERE.parent / "history" / "test_writing.py")
    erasing = HERE.parent / "reconciliation" / "test_erasing.py"
    tests.append(Path(f"{erasing}::test_what_other_rows_of_the_record_say_of_it_goes_too"))
    pass_on_postgres(*tests, within_s=RUN_S)
