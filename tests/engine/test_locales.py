"""Where Python's own encoding is not UTF-8."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rmq_core import RMQ, Control, Inspector, Journal, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.protocol import scripts

ROOT = Path(__file__).parents[2]
LUA = Path(scripts.__file__).parent / "lua"
NAMES = sorted(file.stem for file in LUA.glob("*.lua"))
PROGRAM = f"""
import sys
from rmq_core.protocol.scripts import script
assert not sys.flags.utf8_mode and "utf" not in sys.getfilesystemencoding().lower()
print([script(name).sha for name in {NAMES}])
"""


def test_the_scripts_are_the_same_in_every_locale() -> None:
    """Otherwise clients of one server would not know each other's scripts, or could not load them at all."""
    plain = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **plain}, capture_output=True, text=True, timeout=60
    )
    assert found.stderr == ""
    assert found.stdout.strip() == str([scripts.script(name).sha for name in NAMES])


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252:strict", "ascii:strict", "utf-8:strict"])
def test_what_cannot_be_written_is_spelled_out(redis_server: EmbeddedRedis, namespace: str, encoding: str) -> None:
    """Else a command fails after it has done its work, and what is taken comes again and again."""

    def rmq(*command: str) -> str:
        where = {"RMQ_URL": redis_server.url, "RMQ_NAMESPACE": namespace, "PYTHONIOENCODING": encoding}
        ended = subprocess.run(
            [sys.executable, "-m", "rmq_core", *command],
            env={**os.environ, **where},
            cwd=ROOT,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert (ended.returncode, ended.stderr) == (0, b"")
        return ended.stdout.decode("utf-8" if encoding.startswith("ascii") else encoding.partition(":")[0])

    with RMQ(redis_server.url, namespace) as client:
        client.define(Topic("t", TopicKind.PRIORITY, slots=1, journal=Journal.FULL))
        rmq("send", "t", "snow \u2603", "--priority", "20")
        seen = [rmq("peek", "t"), rmq("journal", "t"), rmq("take", "t")]
        assert all("snow \u2603" in each.replace("\\u2603", "\u2603") for each in seen)
        (sample,) = Inspector(client).sample(["t"])
        assert (sample.counters.acked, sample.prepare) == (1, 0)
        Control(client).delete_topic("t", force=True)
