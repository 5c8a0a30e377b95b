"""The command line."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from rmq_core.errors import PipelineError
from rmq_core.pipeline.__main__ import main
from rmq_core.pipeline.progress import Progress


def test_what_cannot_be_done_is_said_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (
        (["archive"], "--archive is missing: the folder of the archive"),
        (["reconcile", "--archive", "x"], "--reports is missing: the folder of the reports"),
        (["restore", "--archive", "x", "--url", "http://x"], "unknown Redis URL scheme 'http'"),
        (["erase", "--archive", "x", "--reason", "y"], "name what to erase: --id, --ids, --slot-basis or --slot-bases"),
        (["erase", "--archive", "x", "--id", "a"], "--reason is missing: why, for the record"),
        (["erase", "--archive", "x", "--id", "a", "--reason", "\u200b"], "--reason is missing: why, for the record"),
        (
            ["archive", "--archive", "x", "--slots-per-partition", "0"],
            "slots_per_partition must be a whole number from",
        ),
    ):
        assert main(arguments) == 2
        assert capsys.readouterr().err.splitlines()[-1].startswith(said)


class Terminal(io.StringIO):
    """Somebody looks at it."""

    def isatty(self) -> bool:
        return True


def test_people_at_a_terminal_see_one_line_that_grows_and_pipes_get_plain_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    seen, piped = Terminal(), io.StringIO()
    for out in (seen, piped):
        progress = Progress(("read", "write"), out=out)
        with progress.stage("read"):
            progress.tell("read", 1, 2)
        with pytest.raises(PipelineError), progress.stage("write"):
            raise PipelineError("no")
    *drawn, last = seen.getvalue().split("\r\x1b[K")
    assert drawn[-2].startswith("[" + "#" * 7 + "-" * 23 + "]  25 %  read") and seen.getvalue().count("\n") == 1
    assert last == "[" + "#" * 15 + "-" * 15 + "]  50 %  write\n", "what is said next begins a line"
    assert piped.getvalue().splitlines() == ["  0 %  read", " 25 %  read  1/2", " 50 %  read", " 50 %  write"]
    monkeypatch.setenv("TERM", "dumb")
    dumb = Terminal()
    Progress(("read",), out=dumb).tell("read", 1, 1)
    assert dumb.getvalue() == "100 %  read\n"
