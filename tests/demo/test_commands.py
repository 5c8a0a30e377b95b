"""`manage.py replay` and `manage.py board`, mostly as processes of their own, the way `manage.py up` runs them."""

from __future__ import annotations

import argparse
import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from console.config.management.commands.replay import rate
from console.demo.results import Results
from console.demo.topics import REBOOKING
from console.engine import engine
from rmq_core import RMQ, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from tests.support.console_options import set_options
from tests.support.rmq_command import manage as command
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
DEAF = "redis://127.0.0.1:1/0"


@pytest.fixture
def environ(redis_server: EmbeddedRedis, namespace: str, tmp_path: Path) -> dict[str, str]:
    settings = {
        "RMQ_REDIS_URL": redis_server.url,
        "RMQ_NAMESPACE": namespace,
        "RMQ_DATA_DIR": str(tmp_path),
        "NO_COLOR": "1",
    }
    # Not the settings that the console's own tests run under.
    return {**os.environ, **settings, "DJANGO_SETTINGS_MODULE": "console.config.settings"}


def manage(environ: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    return command(*args, **environ)


def test_replay_runs_until_it_is_told_to_stop(rmq: RMQ, environ: dict[str, str]) -> None:
    results = Results(rmq)
    process = subprocess.Popen(
        [sys.executable, "manage.py", "replay", "--rate", "50"],
        cwd=ROOT,
        env=environ,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(results.progress, timeout_s=60, what="the replay has begun")
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert "replaying 2013-02-08 06:00, 60 times faster than life, 50 messages/s" in log
    assert "Traceback" not in log


@pytest.mark.parametrize("text", ["-1", "20001", "many", "1.5", "", "²"])
def test_a_rate_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="must be a whole number from 0 to 20000"):
        rate(text)


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("20000", 20_000)])
def test_a_rate_is_a_number(text: str, value: int) -> None:
    assert rate(text) == value


def test_a_setting_that_makes_no_sense_is_refused(environ: dict[str, str]) -> None:
    run = manage({**environ, "RMQ_DEMO_RATE": "1000000"}, "replay")
    assert run.returncode != 0
    assert "RMQ_DEMO_RATE: must be from 0 to 20000" in run.stderr


def test_a_topic_of_another_shape_is_named(rmq: RMQ, environ: dict[str, str]) -> None:
    rmq.define(Topic(REBOOKING.name, TopicKind.FIXED_TIME))
    run = manage(environ, "replay")
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].startswith("CommandError: topic 'rebooking' is defined with kind=fixed-time")
    assert "Traceback" not in run.stderr


@pytest.fixture
def board(settings: Any, redis_server: EmbeddedRedis, namespace: str) -> Iterator[Callable[..., str]]:
    """`manage.py board` in this process: what it prints."""

    def printed(airport: str, url: str = redis_server.url) -> str:
        set_options(settings, REDIS_URL=url, NAMESPACE=namespace)
        out = io.StringIO()
        call_command("board", airport, stdout=out, no_color=True)
        return out.getvalue()

    yield printed
    engine().client.close()


def test_a_board_is_shown_as_it_was_written(rmq: RMQ, board: Callable[..., str]) -> None:
    results = Results(rmq)
    row = {"time": "06:55", "flight": "B6 117", "direction": "to MSY", "status": "left 06:52, 300 of 1182 miles to go"}
    results.save_board("JFK", "B6", {"as_of": "2013-02-08 09:00", "rows": [row]})
    results.save_gate(
        "JFK", {"flight": "2013-02-08/B6/119/JFK", "to": "BOS", "closed": "2013-02-08 08:59", "status": "x"}
    )
    assert board("jfk").splitlines() == [
        "JFK B6  as of 2013-02-08 09:00",
        "  06:55  B6 117   to MSY    left 06:52, 300 of 1182 miles to go",
        "gate closed last: 2013-02-08/B6/119/JFK to BOS, 2013-02-08 08:59 (x)",
    ]


def test_a_command_beside_up_finds_its_redis(
    rmq: RMQ, environ: dict[str, str], redis_server: EmbeddedRedis, tmp_path: Path
) -> None:
    Results(rmq).save_board("BOS", "B6", {"as_of": "2013-02-08 09:00", "rows": []})
    (tmp_path / "redis_url").write_text(f"{redis_server.url}\n")
    assert manage({**environ, "RMQ_REDIS_URL": ""}, "board", "BOS").stdout == "BOS B6  as of 2013-02-08 09:00\n"


def test_an_airport_without_a_board_and_a_server_that_is_away_are_told(board: Callable[..., str]) -> None:
    with pytest.raises(CommandError, match=r"no board for XXX yet: is the demo running \(manage.py up --demo\)\?"):
        board("XXX")
    with pytest.raises(CommandError, match="the Redis server did not answer"):
        board("JFK", DEAF)
