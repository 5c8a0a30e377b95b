"""The installed command `rmq`: which program does what it is asked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rmq_core import RMQ, Control, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from tests.support.rmq_command import ROOT, rmq

START = "import sys; sys.argv[0] = 'rmq'; from console.command import main; sys.exit(main())"


def test_its_help_names_all_that_it_does() -> None:
    output = subprocess.check_output([sys.executable, "-c", START, "--help"], cwd=ROOT, text=True, timeout=120)
    assert output.startswith("Usage: rmq ")
    for name in (
        "up",
        "worker",
        "send",
        "take",
        "stats",
        "dead",
        "requeue",
        "archive",
        "reconcile",
        "token",
        "console",
    ):
        assert f"\n  {name} " in output, name


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["up", "--help"], "--shared"),
        (["token", "create", "--help"], "--role"),
        (["archive", "--help"], "usage: rmq archive"),
        (["reconcile", "--help"], "--ledger"),
        (["restore", "--archive", "x", "--help"], "usage: rmq restore"),
        (["restore", "--help"], "Usage: rmq restore"),
        (["console", "help"], "jobs"),
    ],
)
def test_help_is_that_of_whoever_does_it(arguments: list[str], words: str) -> None:
    ran = rmq(*arguments)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert words in ran.stdout


def test_without_an_address_the_queue_is_the_consoles(
    redis_server: EmbeddedRedis, namespace: str, tmp_path: Path
) -> None:
    (tmp_path / "redis_url").write_text(redis_server.url + "\n")
    tmp_path.chmod(0o700)
    with RMQ(redis_server.url, namespace) as client:
        client.define(Topic("t", TopicKind.PRIORITY, slots=1))
        client.send("t", PriorityMessage("m", 20))
        found = rmq("stats", "--json", RMQ_DATA_DIR=str(tmp_path), RMQ_NAMESPACE=namespace)
        assert json.loads(found.stdout)[0]["ready"] == 1
        refused = rmq("restore", "t", "--url", redis_server.url, RMQ_NAMESPACE=namespace)
        assert (refused.returncode, refused.stderr) == (
            2,
            "rmq: restore takes ids, or --all or a filter, one of them\n",
        )
        Control(client).delete_topic("t", force=True)


def test_what_the_console_refuses_is_a_sentence(tmp_path: Path) -> None:
    ran = rmq("token", "revoke", "nothing", RMQ_DATA_DIR=str(tmp_path), RMQ_REDIS_URL="nonsense")
    assert ran.returncode == 1 and "RMQ_REDIS_URL" in ran.stderr and "Traceback" not in ran.stderr


def test_a_database_that_nobody_has_made_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    ran = rmq("token", "list", RMQ_DATA_DIR=str(tmp_path))
    assert ran.returncode == 1 and "migrate prepares it" in ran.stderr and "Traceback" not in ran.stderr


def test_a_setting_of_the_console_that_is_wrong_leads_to_no_other_server(
    redis_server: EmbeddedRedis, namespace: str
) -> None:
    wrong = {"RMQ_SAMPLE_INTERVAL_MS": "often", "RMQ_NAMESPACE": namespace}
    with RMQ(redis_server.url, namespace) as client:
        client.define(Topic("t", TopicKind.PRIORITY, slots=1))
        for name in ("RMQ_REDIS_URL", "REDIS_URL"):
            found = rmq("topics", "--json", **{name: redis_server.url}, **wrong)
            assert [each["name"] for each in json.loads(found.stdout or "[]")] == ["t"], found.stderr
        Control(client).delete_topic("t", force=True)
