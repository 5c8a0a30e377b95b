"""Reconciliations in a browser: one that really runs, from the button to the repair; and a finished one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import pytest
from playwright.sync_api import Page, expect

from rmq_core import RMQ, Control, FixedTimeMessage, Topic, TopicKind
from tests.console.stack import Stack
from tests.support.missing import missing
from tests.support.waiting import wait_until

RUN = "7b6c0d9e-0000-4000-8000-000000000001"
RUN_OF_TWO = "7b6c0d9e-0000-4000-8000-000000000002"
SPARK_MS = 400_000
"""Spark starts in seconds, but on a machine that is overloaded."""
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
def damaged(stack: Stack) -> Iterator[RMQ]:
    """A recorded topic in which lies content without a message: in slot 0, whose journal stays whole because somebody
    has not read it yet, and in slot 1, of which nothing is proved once what was read is trimmed."""
    with stack.client() as client:
        client.define(Topic("reconciled", TopicKind.FIXED_TIME, slots=2, journal="full", undo_ms=0))
        auditor = client.journal("reconciled", reader="auditor", slots=1)
        auditor.read()  # nothing is trimmed from now on that it has not committed
        for key, slot in (("m4", 0), ("m3", 1)):
            sent = client.send("reconciled", FixedTimeMessage("content", 4_000_000_000_000, key=key))
            assert sent.slot == slot
        auditor.read()
        auditor.commit()
        for slot, ident in enumerate(("ghost", "remains")):
            client.connection.run([("HSET", client.keyspace.slot("reconciled", slot).body, ident, "0 {} x")])
        yield client
        auditor.forget()


@pytest.mark.timeout(3_600)  # Spark on a busy machine
def test_from_the_button_to_the_repair(stack: Stack, open_page: Callable[..., Page], damaged: RMQ) -> None:
    """Of one topic, against a ledger that names another one, too."""
    if find_spec("pyspark") is None:
        missing("pyspark")
    wait_until(lambda: not entries(damaged, 1), what="the record has read the journal")
    assert entries(damaged, 0)
    damaged.define(Topic("gate-close", TopicKind.PRIORITY, slots=1))
    (stack.folder / "ledgers").mkdir(exist_ok=True)
    (stack.folder / "ledgers" / "flights.csv").write_text(
        "topic,id\nreconciled,m3\nreconciled,m4\ngate-close,a\ngate-close,b\n"
    )
    page = open_page("/reconciliation/", "admin")
    page.get_by_role("button", name="Start a run").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Topics").select_option("reconciled")
    dialog.get_by_label("Business ledger").select_option("flights.csv")
    dialog.get_by_label("Reason").fill("after the storm")
    dialog.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile("/reconciliation/[0-9a-f-]{36}/"))
    progress = page.get_by_role("region", name="Progress")
    expect(progress).to_contain_text("Starting Spark", timeout=SPARK_MS)
    expect(progress).to_contain_text("Reading the queues", timeout=SPARK_MS)
    expect(progress).to_contain_text("Done", timeout=SPARK_MS)
    # Nobody archives here, so the record's keeper has trimmed what it had read, and that is said.
    expect(progress).to_contain_text("3 findings · incomplete")
    expect(page.locator(".rc-findings tbody tr").filter(has_text="Gap")).to_contain_text(
        "archive the topic on schedule"
    )
    expect(progress).to_contain_text(re.compile(r"Reading the queues [^·]+ · \d+ rows"))
    page.get_by_title("Show these findings alone").click()
    expect(page.locator(".rc-findings tbody tr")).to_have_count(1)
    page.wait_for_url("**/?*cause=reason%3Atrimmed*")
    page.get_by_label("Cause").select_option("All causes")
    page.get_by_label("Kind").select_option("All kinds")
    page.get_by_label("Topic", exact=True).select_option("All topics")
    facts = page.locator(".rc-pairs")
    expect(facts).to_contain_text("flights.csv · 2 rows are about other topics (gate-close) and were left out.")
    # Where no whole journal proves that it is not lost, it stays.
    kept = page.locator(".rc-findings tbody tr").filter(has_text="remains")
    expect(kept).to_contain_text("Content without a message")
    expect(kept).to_contain_text("this may be all that is left of a lost message")
    expect(kept.get_by_role("button")).to_have_count(0)
    assert_repairable(page, damaged)
    assert_rehearsed(page, stack, damaged)
    assert_erased(page, stack, damaged)


def test_a_run_from_scratch_is_asked_for_where_it_is_done_once(open_page: Callable[..., Page]) -> None:
    page = open_page("/reconciliation/", "admin")
    page.get_by_role("button", name="Start a run").click()
    dialog = page.get_by_role("dialog")
    scratch = dialog.get_by_label("From scratch")
    for name, other, back in (("every", "3600", ""), ("kind", "archive", "reconcile")):
        expect(scratch).to_be_visible()
        dialog.locator(f"select[name={name}]").select_option(other)
        expect(scratch).to_be_hidden()
        dialog.locator(f"select[name={name}]").select_option(back)
    scratch.check()


def assert_rehearsed(page: Page, stack: Stack, client: RMQ) -> None:
    """The drill: archive, and put what was there into another namespace. Spark is there still, so it takes seconds."""
    run(page, stack, "Archive")
    progress = page.get_by_role("region", name="Progress")
    expect(progress).to_contain_text("Done", timeout=SPARK_MS)
    run(page, stack, "Restore", into="drill")
    expect(progress).to_contain_text("Done", timeout=SPARK_MS)
    facts = page.locator(".rc-pairs")
    expect(facts).to_contain_text("reconciled: 1 waiting")
    expect(facts).to_contain_text("Left out, slot by slot")
    expect(facts).to_contain_text("reconciled, slot 1: It was read and trimmed before anything was archived")
    with RMQ(client.target.url, "drill", allow_eviction=True) as there:
        assert there.connection.run([("ZRANGE", there.keyspace.slot("reconciled", 0).store, 0, -1)]) == [[b"m4"]]
        Control(there).delete_topic("reconciled", force=True)


def assert_erased(page: Page, stack: Stack, client: RMQ) -> None:
    """Somebody's message goes for good: counted, confirmed, and listed among the runs."""
    Control(client).cancel("reconciled", ["m4"])
    run(page, stack, "Archive")
    progress = page.get_by_role("region", name="Progress")
    expect(progress).to_contain_text("Done", timeout=SPARK_MS)
    page.goto(f"{stack.address}/reconciliation/")
    page.get_by_role("button", name="Erase messages").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Ids, one on each line").fill("m4\n")
    dialog.get_by_label("Topics").select_option("reconciled")
    dialog.get_by_role("button", name="Count them").click()
    page.wait_for_url(re.compile("/reconciliation/[0-9a-f-]{36}/"))
    expect(progress).to_contain_text("Messages to be erased: 1", timeout=SPARK_MS)
    expect(page.locator(".rc-pairs")).to_contain_text("Messages in the archive: 1 (transitions: 2)")
    page.get_by_role("button", name="Erase these…").click()
    dialog.get_by_label("Reason").fill("they asked for it")
    expect(dialog.get_by_role("button", name="Erase")).to_be_disabled()
    dialog.get_by_label("Type erase to confirm").fill("erase")
    before = page.url
    dialog.get_by_role("button", name="Erase").click()
    page.wait_for_url(lambda url: url != before)
    expect(progress).to_contain_text("Messages erased: 1", timeout=SPARK_MS)
    page.goto(f"{stack.address}/reconciliation/?kind=erase")
    expect(page.locator("tbody tr").filter(has_text="only counted")).to_have_count(1)
    expect(page.locator("tbody tr").filter(has_text="Erasure")).to_have_count(2)
    let_go = page.get_by_role("region", name="What the archive has let go")
    expect(let_go.locator("tbody tr").filter(has_text="erased: they asked for it")).to_contain_text("messages: 1")
    (records,) = stack.folder.rglob("erased")
    (records / "0.json").write_text("{")
    page.reload()
    expect(let_go).to_contain_text("cannot be read, so what they tell is not known here: erased/0.json")
    (records / "0.json").unlink()


def run(page: Page, stack: Stack, job: str, into: str = "") -> None:
    """Asks for a run of one topic in the dialog."""
    page.goto(f"{stack.address}/reconciliation/")
    page.get_by_role("button", name="Start a run").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Job").select_option(label=job)
    dialog.get_by_label("Topics").select_option("reconciled")
    if into:
        expect(dialog.get_by_label("As it was at")).to_be_disabled()
        dialog.get_by_label("Rehearse in another namespace").fill(into)
        expect(dialog.get_by_label("As it was at")).to_be_enabled()
    dialog.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile("/reconciliation/[0-9a-f-]{36}/"))


def test_a_finding_is_repaired_after_a_dry_run(stack: Stack, open_page: Callable[..., Page], damaged: RMQ) -> None:
    stack.manage(MAKE_RUN)
    page = open_page("/reconciliation/", "admin")
    expect(page.locator(".rc-run-charts")).to_be_visible()
    page.locator(f"th a[href$='/{RUN}/']").click()
    page.wait_for_url(re.compile(f"/reconciliation/{RUN}/"))
    assert_repairable(page, damaged)
    page.goto(f"{stack.address}/topics/reconciled/message/?id=m3")
    expect(page.locator(".rc-step").filter(has_text="sent")).to_be_visible(timeout=60_000)


def test_one_repair_for_all_topics(stack: Stack, open_page: Callable[..., Page]) -> None:
    """Dead letters that two topics' ledgers expect done: one button, one reason, an operation for each topic."""
    names = ("billed", "shipped")
    with stack.client() as client:
        for name in names:
            client.define(Topic(name, TopicKind.PRIORITY, slots=1))
            client.send(name, "late", priority=20)
            client.reject(client.take(name))
        stack.manage(MAKE_RUN_OF_TWO)
        page = open_page(f"/reconciliation/{RUN_OF_TWO}/", "admin")
        every = page.locator(".rc-group").filter(has_text="2 topics · 2")
        expect(page.locator(".rc-group")).to_have_count(3)
        every.get_by_role("button").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("2 would be repaired")
        dialog.get_by_label("Reason").fill("the printer was out of paper")
        dialog.get_by_role("button", name="Repair").click()
        expect(page.get_by_text("one for each topic")).to_be_visible()
        expect(page.locator(".rc-findings").get_by_text("under repair, or repaired")).to_have_count(2)
        for name in names:
            wait_until(lambda name=name: client.take(name), what=f"the dead letter of {name} is ready again")


MAKE_RUN_OF_TWO = f"""
from django.utils import timezone
from console.models import Finding, Reconciliation
now = timezone.now()
run = Reconciliation.objects.create(
    pk="{RUN_OF_TWO}", username="admin", state="done", percent=100, started=now, finished=now, complete=True,
    findings=2, listed=2, stages=[["snapshot", 1, 1, 1]], summary={{"counts": {{"not_done": 2}}}},
)
for topic in ("billed", "shipped"):
    Finding.objects.create(
        run=run, kind="not_done", topic=topic, slot=0, ident="late", evidence={{}}, repair="requeue_dead"
    )
"""


def test_a_schedule_is_deleted_with_a_reason(stack: Stack, open_page: Callable[..., Page]) -> None:
    stack.manage(MAKE_SCHEDULE)
    page = open_page("/reconciliation/", "admin")
    schedules = page.get_by_role("region", name="Schedules")
    schedules.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("will not run by itself any more")
    dialog.get_by_role("button", name="Delete").click()
    expect(dialog).to_be_visible()  # not without a reason
    dialog.get_by_label("Reason").fill("moved to the night")
    dialog.get_by_role("button", name="Delete").click()
    expect(dialog).to_have_count(0)
    expect(schedules).to_be_hidden()


def test_an_old_form_of_a_schedule_undoes_nothing(stack: Stack, open_page: Callable[..., Page]) -> None:
    stack.manage(MAKE_SCHEDULE)
    page = open_page("/reconciliation/", "admin")
    schedules = page.get_by_role("region", name="Schedules")
    schedules.get_by_role("button", name="Edit").click()
    stack.manage(
        "from console.models import PipelineSchedule as S; s = S.objects.get(); s.every_ms = 3_600_000; s.save()"
    )
    dialog = page.get_by_role("dialog")
    page.problems.clear()  # type: ignore[attr-defined]
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_have_text("Somebody else has changed this meanwhile: open it again.")
    page.problems.clear()  # type: ignore[attr-defined]  # the refusal, which Chromium writes down
    dialog.get_by_role("button", name="Back").click()
    expect(schedules).to_contain_text("every 1 h")
    stack.manage(f"{SCHEDULE}; S.objects.all().delete()")


SCHEDULE = "from console.models import PipelineSchedule as S"
MAKE_SCHEDULE = """
from console.models import PipelineSchedule
PipelineSchedule.objects.all().delete()
PipelineSchedule.objects.create(kind="archive", every_ms=86_400_000, next_ms=2**52, username="a")
"""


def entries(client: RMQ, slot: int) -> int:
    """In the journal of a slot."""
    return client.connection.run([("XLEN", client.keyspace.slot("reconciled", slot).journal)])[0]


def assert_repairable(page: Page, client: RMQ) -> None:
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "100")
    finding = page.locator(".rc-findings tbody tr").filter(has_text="ghost")
    expect(finding).to_have_count(1)
    expect(finding).to_contain_text("Content without a message")
    finding.get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 would be repaired")
    dialog.get_by_label("Reason").fill("left behind by hand")
    dialog.get_by_role("button", name="Repair").click()
    page.wait_for_url(re.compile(r"/operations/[0-9a-f-]{36}/"))
    expect(page.locator(".rc-tag-done")).to_be_visible(timeout=60_000)
    assert client.connection.run([("HEXISTS", client.keyspace.slot("reconciled", 0).body, "ghost")]) == [0]
