"""What a closing state carries is as good as the history it stands for: in any history, closed anywhere, any number of
times, the same is said of every message as by reading it all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmq_core.journal.entries import EVENTS
from rmq_core.pipeline.history import histories as of_histories
from rmq_core.pipeline.history import ordered, spooled
from rmq_core.pipeline.history.carried import Closing
from rmq_core.pipeline.history.histories import judge
from rmq_core.pipeline.history.steps import (
    FLAG_BITS,
    LETTER_BITS,
    LIVE,
    NAMES,
    OLD,
    STEP_BITS,
    TAIL,
    UNKNOWN,
    low,
)
from rmq_core.pipeline.schemas import PARTS
from tests.pipeline.frames import DUE, T0, Slot
from tests.pipeline.hashed import hashed
from tests.pipeline.legal import legal_steps

IDS = [b"m%d" % i for i in range(3)]
IMPOSSIBLE = [("acked", "p-", 0), ("taken", "sp", 5), ("requeued", "ds", DUE), ("sent", "ns", DUE), ("died", "pd", 7)]
RARE = [
    ("restored", "-s", DUE),
    ("erased", "--", 0),
    ("restored", "ts", DUE),
    ("restored", "-d", 9),
    ("strange", "??", 1),
]


WAYS = {"one by one": (1, -1, 200_000, 0), "together": (40_000, 1, 200_000, 0), "in pieces": (40_000, 1, 9, 12)}


@pytest.fixture(scope="module", autouse=True, params=WAYS.values(), ids=WAYS)
def at_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """How many rows are judged together, whether those that are settled are left out, and whether a message of a few
    rows is judged piece by piece."""
    with pytest.MonkeyPatch.context() as patched:
        judged_in(patched, *request.param)
        yield


def judged_in(patched: pytest.MonkeyPatch, at_once: int, share: float, hot: int, piece: int) -> None:
    """Numbers of rows; ``share``: of messages that are settled."""
    patched.setattr(ordered, "AT_ONCE", at_once)
    patched.setattr(of_histories, "SETTLED_SHARE", share)
    patched.setattr(of_histories, "HOT", hot)
    if piece:
        patched.setattr(of_histories, "PIECE", piece)
        patched.setattr(spooled, "RUN", piece + 3)


def history(random: Random, steps: int) -> list[dict[str, Any]]:
    """What happens in a slot: mostly what can happen, sometimes what cannot; and sometimes it all begins anew."""
    slot, life, rows = Slot(), 1, []
    for _ in range(steps):
        slot.entries.clear()
        if random.random() < 0.02:
            life += 1
            slot.queues = {name: {} for name in slot.queues}
            continue
        id = random.choice(IDS)
        if random.random() < 0.08:
            event, route, score = random.choice(IMPOSSIBLE if random.random() < 0.5 else RARE)
            slot.say((event, route, id, score))
        else:
            slot.say(*random.choice(legal_steps(slot, id)))
        rows += told(slot, life, random)
    return rows


def told(slot: Slot, life: int, random: Random) -> list[dict[str, Any]]:
    """What a slot's journal says, as steps."""
    rows = []
    for row in slot.entries:
        event, score = row["event"], row["score"] if row["score"] is not None else -1
        number = NAMES.index(event) if event in EVENTS else UNKNOWN
        step = (number << STEP_BITS) + (low(row["origin"]) << LETTER_BITS) + low(row["target"])
        failed = event in ("retried", "died")
        rows.append(
            {
                **{"topic": "work", "slot": 0, "id": row["id"], "position": row["position"], "seq": row["seq"]},
                **{"life": life, "step": step, "score": score, "failures": -1, "failed": int(failed)},
                **{"due_ms": score if row["target"] in "sr" and score > 16 else -1, "at_ms": slot.clock},
                **{"priority": random.choice((-1, 50)), "exact": float(score) if score > 0 else math.nan},
                "content": random.choice((-2, 0, 7, 8)) if row["origin"] == "n" else -1,
            }
        )
    return rows


def live(random: Random) -> list[dict[str, Any]]:
    """What the queues hold, whether that is right or not."""
    base = {"topic": "work", "slot": 0, "life": 0, "position": 2**63 - 1, "priority": -1, "failures": -1}
    return [
        base
        | {"id": id, "seq": part, "step": (LIVE << STEP_BITS) + part, "score": DUE, "due_ms": T0, "exact": math.nan}
        | {"content": -1, "failed": 0, "at_ms": -1}
        for id in [*IDS, b"outsider"]
        for part in range(len(PARTS))
        if random.random() < 0.2
    ]


def judged(rows: list[dict[str, Any]], closing: Closing | None) -> tuple[dict[bytes, Any], Any, list[Any], set[bytes]]:
    """What is said of each message, of the times, what is carried, and of which nobody is sure."""
    found: dict[bytes, Any] = {}
    times: list[Any] = []
    kept, unsure = [], set()
    batch = hashed([{"carried": None} | row for row in Random(len(rows)).sample(rows, len(rows))])
    for out in judge(closing)([batch.slice(0, len(rows) // 2), batch.slice(len(rows) // 2)]):
        for row in out.to_pylist():
            if row["closing"] is not None:
                kept.append({name: row[name] for name in ("topic", "slot", "id")} | row["closing"])
            elif row["id"] is None:
                times += [("late", row["archived"], ms) for ms in row["lateness"]]
                times += [("done", row["archived"], ms) for ms in row["end_to_end"]]
            else:
                unsure |= {row["id"]} if row.pop("unsure") else set()
                said = {name: value if value == value else None for name, value in row.items()}
                found.setdefault(row["id"], said)  # one of which nobody is sure may be named once more
    return found, times, kept, unsure


def sure(rows: list[dict[str, Any]], past: list[dict[str, Any]], state: list[dict[str, Any]], closing: Closing) -> Any:
    """The same of what is new beside what is carried, asking for the past of those of which nobody is sure."""
    found, times, kept, unsure = judged(state + rows, closing)
    if closing.known:  # of what lies in a queue, and nothing is known of it
        unsure |= {id for id, said in found.items() if said["life"] is None}
    if unsure:
        old = [row | {"step": row["step"] | OLD << FLAG_BITS} for row in past]
        again = [row for row in old + rows if row["id"] in unsure]
        more, of_more, carried, never = judged(again, Closing(closing.number))
        assert not never
        found = {id: said for id, said in found.items() if id not in unsure} | more
        assert not {row["id"] for row in kept} & unsure
        times, kept = times + of_more, kept + carried
    return found, times, kept


def plain(found: dict[bytes, Any]) -> dict[bytes, Any]:
    """Of what is wrong nothing is said but that it is."""
    return {
        id: {name: said[name] for name in ("wrong", "event", "life", "position", "in_dead")} if said["wrong"] else said
        for id, said in found.items()
    }


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 120), st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_closed_anywhere_any_number_of_times(seed: int, steps: int, cuts: list[float]) -> None:
    random = Random(seed)
    rows, now = history(random, steps), live(random)
    places = sorted({0, len(rows), *(round(cut * len(rows)) for cut in cuts)})
    state: list[dict[str, Any]] = []
    times: list[Any] = []
    for number, (low_, high) in enumerate(pairwise(places), start=1):
        known = frozenset({"work"} if low_ else ())
        tail = [row | {"step": row["step"] | TAIL << FLAG_BITS} for row in rows[high : high + 4]]
        new = rows[low_:high] + tail
        seen, of_new, carried = sure(new + now, rows[:low_], state, Closing(number, known))
        whole, of_all, _, _ = judged(rows[: high + 4] + now, None)
        assert plain(seen) == plain(whole)
        times += [each for each in of_new if each[1]]
        late = [each for each in of_new if not each[1]]
        assert sorted(map(repr, [*times, *((each[0], True, *each[2:]) for each in late)])) == sorted(map(repr, of_all))
        state += carried
        # The newest of each message is all that there is to be read.
        newest = {row["id"]: max(each["position"] for each in state if each["id"] == row["id"]) for row in state}
        if random.random() < 0.3:
            state = [row for row in state if row["position"] == newest[row["id"]] and row["carried"]]


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 120))
def test_leaving_out_what_is_settled_changes_nothing(seed: int, steps: int) -> None:
    random = Random(seed)
    rows = history(random, steps) + live(random)
    several = []
    for share in (1, -1):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(of_histories, "SETTLED_SHARE", share)
            found, times, kept, unsure = judged(rows, Closing(1))
            several.append((sorted(found.items()), sorted(times), sorted(kept, key=repr), sorted(unsure)))
    assert repr(several[0]) == repr(several[1])


def test_what_has_ended_is_not_carried() -> None:
    slot = Slot()
    slot.say(("sent", "ns", b"a", DUE))
    slot.say(("taken", "sp", b"a", 1))
    slot.say(("acked", "p-", b"a", 0))
    sent, taken, acked = told(slot, 1, Random(1))
    assert judged([sent, taken, acked], Closing(1))[2] == []
    (carried,) = judged([sent, taken], Closing(1))[2]
    assert carried["carried"]
    known = Closing(2, frozenset({"work"}))
    (ended,) = judged([carried, acked], known)[2]
    assert ended["carried"] == b"" and judged([carried, ended], known)[0] == {}
