"""What a send would do is what it does: content, version, time and place of whatever the id meets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rmq_core import TopicKind
from rmq_core.errors import DueInThePast, WrongKind
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.conftest import few_servers, scripts_alone

WHEN: dict[TopicKind, list[dict[str, int]]] = {
    TopicKind.PRIORITY: [{"priority": 20}, {"priority": 30}],
    TopicKind.RANGE_MERGE: [{"range_ms": FAR_MS}, {"range_ms": 2 * FAR_MS}],
    TopicKind.FIXED_TIME: [{"at": 4_000_000_000_000}, {"at": 4_000_000_000_001}],
}


async def nothing(bench: Bench) -> None:
    """The id is not known."""


async def waits(bench: Bench, **more: Any) -> None:
    await bench.q.send("work", "old", key="a", **bench.first, **more)  # type: ignore[attr-defined]


async def newer_waits(bench: Bench) -> None:
    await waits(bench, version=9)


async def flies(bench: Bench) -> None:
    await waits(bench, version=9)
    await bench.control.run_now("work", "a")
    await bench.take_one()


async def retries(bench: Bench) -> None:
    await bench.q.nack(await taken(bench), delay_ms=FAR_MS)


async def died(bench: Bench) -> None:
    await bench.q.reject(await taken(bench))


async def taken(bench: Bench) -> Any:
    await waits(bench)
    await bench.control.run_now("work", "a")
    return await bench.take_one()


async def held(bench: Bench) -> None:
    await waits(bench)
    await bench.control.hold("work", id="a")
    await bench.control.run_now("work", "a")
    await bench.q.take("work")


MET: list[Callable[[Bench], Awaitable[None]]] = [nothing, waits, newer_waits, flies, retries, died, held]


@pytest.mark.parametrize("merge", ["latest", "first", "never"])
@pytest.mark.parametrize("kind", list(WHEN))
@scripts_alone
async def test_it_says_what_happens(bench: Bench, kind: TopicKind, merge: str) -> None:
    bench.first, other = WHEN[kind]  # type: ignore[attr-defined]
    for number, met in enumerate(MET):
        for when in (bench.first, other):  # type: ignore[attr-defined]
            await bench.topic(kind, merge=merge, max_retries=3)
            if merge != "never":
                await met(bench)
            before = await bench.inspector.find("work", "a")
            said = await bench.inspector.what_if("work", "new", key="a", **when)
            assert await bench.inspector.find("work", "a") == before, "nothing was sent"
            sent = await bench.q.send("work", "new", key="a", **when)
            told = f"{met.__name__} {number} {when}: {said.text}"
            assert (said.slot, said.id) == (sent.slot, sent.id if merge != "never" else None), told
            assert (said.outcome in {"merged", "older"}) is sent.merged, told
            if merge != "never":
                await check(bench, said, before, told)
            await bench.control.delete_topic("work", force=True)


async def check(bench: Bench, said: Any, before: Any, told: str) -> None:
    """Whose content and time have won is what was said."""
    codes = {each.code for each in said.reasons}
    (now,) = await bench.inspector.find("work", "a")
    waiting = [row for state in ("delayed", "ready", "retrying", "held") for row in await rows(bench, state)]
    if said.outcome == "older":
        assert now.version == 9, told
    elif "send_content_first" in codes:
        assert now.content == b"old", told
    elif "send_content_latest" in codes:
        assert now.content == b"new", told
    if "send_behind_itself" in codes or "send_beside_dead" in codes:
        assert len(now.states) == 2, told
    moved = codes & {"send_due_moves", "send_priority_moves", "send_retry_moves"}
    if said.outcome == "merged" and "send_held_moves" not in codes:
        (row,) = waiting
        was = before[0].row
        changed = (row.state, row.score_ms, row.priority) != (was.state, was.score_ms, was.priority)
        assert changed is bool(moved), told


async def rows(bench: Bench, state: str) -> Any:
    return (await bench.inspector.messages("work", state)).rows


@few_servers
async def test_what_keeps_a_message_out(bench: Bench) -> None:
    await bench.topic(versions_for_ms=FAR_MS, max_backlog=1)
    await bench.q.send("work", "m", priority=20, key="a", version=5, unique_for_ms=FAR_MS)
    await bench.q.ack(await bench.take_one())

    async def outcome(**options: Any) -> str:
        found = await bench.inspector.what_if("work", "m", priority=20, **options)
        return f"{found.outcome}: {found.text}"

    assert (await outcome(key="a", unique_for_ms=FAR_MS)).startswith("duplicate: It would not be accepted: its id was")
    assert await outcome(key="a", version=4) == (
        "outdated: It would not be accepted: version 5 of its id has been handed out, and 4 is older."
    )
    assert (await outcome(key="b")).startswith("new")
    await bench.q.send("work", "m", priority=20, key="b")
    assert (await outcome(key="c")).startswith("full: Its slot has used up its part")
    assert (await outcome(key="b")).startswith("merged: It would merge")
    await bench.topic(name="steps", in_order=True)
    await bench.q.send("steps", "m", priority=20, key="k", version=1)
    await bench.q.ack(await bench.take_one("steps"))
    for version, said in ((1, "outdated"), (2, "new")):
        tried = await bench.inspector.what_if("steps", "m", priority=20, key="k", version=version)
        sent = await bench.q.send("steps", "m", priority=20, key="k", version=version)
        assert (tried.outcome, sent.outdated, tried.id) == (said, said == "outdated", sent.id)
    await bench.topic(TopicKind.FIXED_TIME, "later")
    with pytest.raises(DueInThePast):
        await bench.inspector.what_if("later", "m", at=1_600_000_000_000)
    with pytest.raises(WrongKind):
        await bench.inspector.what_if("later", "m", priority=20)
    found = await bench.inspector.what_if("later", "m", in_ms=FAR_MS)
    assert found.text == "It would be a new message, due in 1 h."
