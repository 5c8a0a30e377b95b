"""The command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rmq_core.pipeline.__main__ import main


def test_what_cannot_be_done_is_said_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (
        (["archive"], "--archive is missing: the folder of the archive"),
        (["reconcile", "--archive", "x"], "--reports is missing: the folder of the reports"),
        (["restore", "--archive", "x", "--url", "http://x"], "unknown Redis URL scheme 'http'"),
        (["archive", "--archive", "x", "--slots-per-partition", "0"], "slots_per_partition must be from 1 to 4096"),
    ):
        assert main(arguments) == 1
        assert capsys.readouterr().err.splitlines()[-1].startswith(said)
