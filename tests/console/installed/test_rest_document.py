"""The examples of docs/reference/rest.md, run as they stand there against a whole installation."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from console.config.environment import BASE_DIR
from rmq_core import Topic, TopicKind
from tests.console.conftest import Queue
from tests.console.stack import Stack
from tests.support.missing import missing

DOCUMENT = BASE_DIR / "docs" / "reference" / "rest.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_example_works(stack: Stack, secrets: dict[str, str]) -> None:
    if shutil.which("curl") is None:
        missing("curl")
    blocks = BLOCK.findall(DOCUMENT.read_text())
    assert len(blocks) >= 5
    # A line that says which example an answer belongs to, after every block.
    script = "set -euo pipefail\n" + "\n".join(f"{block}\necho; echo '### {n}'" for n, block in enumerate(blocks))
    environ = {
        "PATH": os.environ["PATH"],
        "RMQ": f"{stack.address}/api/v1",
        "TOKEN": secrets["admin"],
    }
    ran = subprocess.run(["bash", "-c", script], env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
    with stack.client() as client:
        queue = Queue(client)
        (sample,) = queue.inspector.sample(["rest-orders"])
        counters = sample.counters
        # What the text says has happened.
        assert counters.acked == 1 and counters.extended == 1
        assert counters.cancelled == 1 and counters.rescheduled == 1
        assert counters.died == 1 and counters.requeued == 1
        assert queue.find("reminder-4711", "rest-orders") is None
        assert queue.find("bad-1", "rest-orders").row.state == "in_flight"  # taken once, by two equal requests
        assert sample.ledger_gap == 0
        queue.control.delete_topic("rest-orders", force=True)


def test_every_example_in_javascript_works(stack: Stack, secrets: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("node") is None:
        missing("node")
    blocks = re.findall(r"^```js\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    program = tmp_path / "example.mjs"
    program.write_text("const { RMQ, TOKEN } = process.env;\n" + "\n".join(blocks))
    environ = {"PATH": os.environ["PATH"], "RMQ": f"{stack.address}/api/v1", "TOKEN": secrets["admin"]}
    with stack.client() as client:
        client.define(Topic("rest-orders", TopicKind.FIXED_TIME, slots=4))
        ran = subprocess.run(["node", program], env=environ, capture_output=True, text=True, timeout=60, check=False)
        assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
        queue = Queue(client)
        (sample,) = queue.inspector.sample(["rest-orders"])
        assert (sample.counters.sent, sample.counters.cancelled) == (1, 1)
        queue.control.delete_topic("rest-orders", force=True)


def test_the_document_names_only_what_there_is() -> None:
    """Every route the examples call is described."""
    from console.api import api

    described = {path.removeprefix("/api/v1") for path in api.get_openapi_schema()["paths"]}
    patterns = [re.compile(re.sub(r"\{[^}]+\}", "[^/:]+", path) + "$") for path in described]
    called = re.findall(r"rmq [A-Z]+ '?(/[^\s'?]+)", DOCUMENT.read_text())
    assert called
    for path in called:
        assert any(pattern.match(path) for pattern in patterns), path
