"""Bulk actions in a real installation whose job worker is killed in the middle."""

from __future__ import annotations

import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

from rmq_core import FixedTimeMessage, Topic, TopicKind
from rmq_core.client.control import Control
from rmq_core.client.inspector import Inspector
from rmq_core.model.filters import MessageFilter
from tests.console.conftest import FAR
from tests.console.stack import Stack
from tests.support.waiting import wait_until

COUNT = 20_000
START = """
from django.contrib.auth.models import User
from console.access import Action
from console.usecases.actor import Actor
from console.usecases.bulk.bulk import start
from console.usecases.bulk.bulk_requests import BulkRequest
from rmq_core.model.filters import MessageFilter
user = User.objects.filter(is_superuser=True).first()
start(Actor(user), BulkRequest(Action.CANCEL, "orders", MessageFilter("delayed"), reason="a test", confirm="orders",
                           rate_per_s=2000))
"""


def row(stack: Stack) -> dict[str, Any]:
    with sqlite3.connect(f"file:{stack.folder / 'console.sqlite3'}?mode=ro", uri=True, timeout=20) as database:
        database.row_factory = sqlite3.Row
        found = database.execute("SELECT * FROM console_operation WHERE topic = 'orders'").fetchone()
        return dict(found) if found else {"state": "", "done": 0}


def job_processes(stack: Stack) -> list[int]:
    """The job worker and the process in which it does the job, the parent first."""
    parents = [pid for pid, command in stack.children().items() if " jobs" in command]
    children = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(status[1]) in parents:
                children.append(int(entry.name))
    return parents + children


def test_an_operation_goes_on_after_its_worker_was_killed(stack: Stack) -> None:
    with stack.client() as client:
        client.define(Topic("orders", TopicKind.FIXED_TIME, slots=8))
        inspector = Inspector(client)
        due = inspector.now_ms() + FAR
        client.send_many("orders", (FixedTimeMessage(f"m{n}", due + n, key=f"m{n}") for n in range(COUNT)))
        stack.manage(START)
        wait_until(lambda: row(stack)["done"] > 2_000, timeout_s=30, what="it is at work")
        for pid in job_processes(stack):
            os.kill(pid, signal.SIGKILL)
        at_kill = row(stack)
        assert at_kill["state"] == "running" and at_kill["done"] < COUNT
        wait_until(lambda: row(stack)["state"] == "done", timeout_s=60, what=f"it ends; the log:\n{stack.log[-2000:]}")
        found = row(stack)
        # What was done but not yet noted when the worker died is found gone, and said to be so.
        assert found["done"] + found["skipped"] == COUNT
        assert found["interruptions"] >= 1
        assert inspector.preview("orders", MessageFilter("delayed")).count == 0
        assert inspector.preview("orders", MessageFilter("trash")).count == COUNT
        Control(client).delete_topic("orders", force=True)
