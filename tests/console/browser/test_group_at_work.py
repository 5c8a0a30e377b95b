"""Two groups of a stream at work, in the browser: a member is killed, what it had is claimed, a group reads again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from rmq_core import Topic
from tests.console.browser.group_program import main
from tests.console.conftest import Queue
from tests.console.stack import Stack
from tests.support.programs import Program
from tests.support.waiting import wait_until

STREAM = "gate-log"
N = 200


@pytest.fixture
def members(queue: Queue, stack: Stack) -> Iterator[dict[str, Program]]:
    """Two workers of both groups; nothing comes back by its timeout."""
    queue.client.define(Topic(STREAM, "stream", slots=8, visibility_timeout_ms=3_600_000))
    found = {each: Program(main, {"url": stack.redis_url, "name": each, "stream": STREAM}) for each in ("ann", "bob")}
    wait_until(lambda: found.keys() <= {each.name for each in queue.inspector.workers()}, what="both to be there")
    yield found
    for each in found.values():
        each.kill()
        each.wait()
    queue.client.connection.client.delete(f"{STREAM}-go")
    queue.control.delete_topic(STREAM, force=True)


def test_a_member_is_killed_and_what_it_had_is_claimed(
    open_page: Callable[..., Page], queue: Queue, members: dict[str, Program]
) -> None:
    queue.client.send(STREAM, "hold")
    holder = str(
        wait_until(
            lambda: [each.name for each in queue.inspector.members(f"{STREAM}@mail") if each.held],
            what="one to hold it",
        )[0]
    )
    # Or it would be killed with that one, too: the other group would have one more to claim.
    wait_until(lambda: acked(queue, "sums") == 1, what="the other group to be done with it")
    page = open_page(f"/topics/{STREAM}/groups/?group=mail")
    member = page.locator(f"[data-member={holder}]")
    expect(member).to_contain_text("running")
    members[holder].kill()
    for n in range(N):
        queue.client.send(STREAM, f"{n}")
    expect(member).to_contain_text("lost")
    queue.client.connection.client.set(f"{STREAM}-go", "1")
    mail, sums = (
        page.locator("tbody", has=page.get_by_role("link", name=name, exact=True)) for name in ("mail", "sums")
    )
    for group in (mail, sums):
        expect(group.locator("td").nth(1)).to_have_text("0")  # the other one has read everything, for both
    member.get_by_role("button", name="Claim").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("would come back.")
    dialog.get_by_label("Reason").fill("its process was killed")
    dialog.get_by_role("button", name="Claim").click()
    expect(dialog).to_be_hidden()
    wait_until(lambda: acked(queue, "mail") == N + 1, what="the other one to have done them")
    mail.get_by_role("button", name="Set position…").click()
    expect(dialog).to_contain_text(f"{N + 1} entries are read again.")
    dialog.get_by_label("Reason").fill("all once more")
    dialog.get_by_role("button", name="Set the position").click()
    expect(dialog).to_be_hidden()
    wait_until(lambda: acked(queue, "mail") == 2 * (N + 1), what="it to have caught up")
    expect(mail.locator("td").nth(1)).to_have_text("0")
    wait_until(lambda: acked(queue, "sums") == N + 1, what="the other group to have each entry once")


def acked(queue: Queue, group: str) -> int:
    (sample,) = queue.inspector.sample([f"{STREAM}@{group}"])
    return sample.counters.acked
