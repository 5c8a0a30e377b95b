"""A finished reconciliation in a browser: its findings, a repair tried and run, and the timeline of a message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from rmq_core import RMQ, FixedTimeMessage, Topic, TopicKind
from tests.console.stack import Stack

RUN = "7b6c0d9e-0000-4000-8000-000000000001"
MAKE_RUN = f"""
from django.utils import timezone
from console.models import Finding, Reconciliation
now = timezone.now()
row = {{"topic": "reconciled", "sent": 20, "acked": 3, "merge_ratio": 0.1, "lateness_p99_ms": 12, "causes": "[]"}}
run = Reconciliation.objects.create(
    pk="{RUN}", username="admin", state="done", percent=100, started=now, finished=now, complete=True, findings=1,
    listed=1, stages=[["snapshot", 1, 1, 1]], tables=[row], summary={{"counts": {{"orphan_body": 1}}}},
)
Finding.objects.create(
    run=run, kind="orphan_body", topic="reconciled", slot=0, ident="ghost", evidence={{"queues": []}},
    repair="drop_orphan",
)
"""


@pytest.fixture
def run(stack: Stack) -> Iterator[RMQ]:
    """A run that found content without a message, which is really there; and a topic that is recorded."""
    with stack.client() as client:
        client.define(Topic("reconciled", TopicKind.FIXED_TIME, slots=2, journal="full"))
        client.send("reconciled", FixedTimeMessage("content", 4_000_000_000_000, key="m3"))
        client.connection.run([("HSET", client.keyspace.slot("reconciled", 0).body, "ghost", "0 {} x")])
        stack.manage(MAKE_RUN)
        yield client


def test_a_finding_is_repaired_after_a_dry_run(stack: Stack, open_page: Callable[..., Page], run: RMQ) -> None:
    page = open_page("/reconciliation/", "admin")
    expect(page.locator(".rc-run-charts")).to_be_visible()
    page.get_by_role("link", name="Reconciliation").last.click()
    page.wait_for_url(re.compile(f"/reconciliation/{RUN}/"))
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "100")
    finding = page.locator(".rc-findings tbody tr")
    expect(finding).to_have_count(1)
    expect(finding).to_contain_text("Content without a message")
    expect(finding).to_contain_text("ghost")
    finding.get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 would be repaired")
    dialog.get_by_label("Reason").fill("left behind by hand")
    dialog.get_by_role("button", name="Repair").click()
    page.wait_for_url(re.compile(r"/operations/[0-9a-f-]{36}/"))
    expect(page.locator(".rc-tag-done")).to_be_visible(timeout=30_000)
    assert run.connection.run([("HEXISTS", run.keyspace.slot("reconciled", 0).body, "ghost")]) == [0]
    page.goto(f"{stack.address}/topics/reconciled/message/?id=m3")
    expect(page.locator(".rc-step")).to_contain_text("sent", timeout=20_000)
