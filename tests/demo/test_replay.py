"""The replay against a real server: short, fast, interrupted."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from console.demo.flights import Day
from console.demo.listeners import Desk, listeners_of
from console.demo.program import GATE_LAPS, Clock, Program
from console.demo.replay import CATCH_UP_MS, START_MS, Replay, resume
from console.demo.results import Progress, Results
from console.demo.schedule import DAY_MS, Event, messages
from console.demo.topics import CANCELLATIONS, DEPARTURE_BOARD, GATE_CLOSE, GATES_CLOSED, REBOOKING, TOPICS
from rmq_core import RMQ, AsyncRMQ, Control, Inspector, Routing, Target, Worker
from rmq_core.embedded.redis import EmbeddedRedis
from tests.support.waiting import wait_until, wait_until_async

HOUR_A_SECOND = 3_600


@pytest.fixture(scope="module")
def morning(program: Program) -> Program:
    """The first hundred flights of the blizzard, alone."""
    day = program.days[0]
    return Program([Day(day.date, day.flights[:100])])


@contextlib.contextmanager
def running(replay: Replay) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=replay.run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


FLIGHT = "2013-02-08/US/1791/JFK"


async def test_a_short_replay_leads_to_deliveries_and_a_real_dead_letter(
    rmq: RMQ, redis_server: EmbeddedRedis, namespace: str, morning: Program
) -> None:
    rmq.define(replace(REBOOKING, max_retries=1, backoff_ms=10, backoff_max_ms=10))  # as an operator may change it
    desk = Desk(rmq, morning)
    worker = Worker(redis_server.url, listeners_of(lambda: desk), namespace=namespace)
    client = AsyncRMQ(redis_server.url, namespace)
    routing = Routing(client, "as the keeper does")
    serving = [asyncio.create_task(worker.serve()), asyncio.create_task(routing.run())]
    inspector, results = Inspector(rmq), Results(rmq)
    try:
        with running(Replay(rmq, morning, rate=200, speed=HOUR_A_SECOND)):
            await wait_until_async(
                lambda: all(acked(inspector)) and results.board("JFK"),
                timeout_s=30,
                what="every topic has delivered",
            )
            view = await wait_until_async(
                lambda: [each for each in inspector.find(REBOOKING.name, FLIGHT) if each.row.state == "dead"],
                what="the flight without a tail number is a dead letter",
            )
    finally:
        worker.stop()
        routing.stop()
        await asyncio.gather(*serving)
        await client.close()
    assert view[0].row.state == "dead"
    assert view[0].failure is not None
    assert view[0].failure.error == "MissingTailNumber"
    assert "no tail number" in view[0].failure.message
    assert set(results.gates()) == {"EWR", "JFK", "LGA"}
    assert results.rebooked("2013-02-08")
    assert sum(slot.ledger_gap for sample in inspector.sample() for slot in sample.slots) == 0


def test_a_second_replay_goes_on_where_the_first_was_killed(rmq: RMQ, morning: Program) -> None:
    inspector, results = Inspector(rmq), Results(rmq)
    Replay(rmq, morning, rate=0, speed=HOUR_A_SECOND).step()
    first = results.progress()
    assert first is not None
    second = Replay(rmq, morning, rate=0, speed=HOUR_A_SECOND)
    wait_until(lambda: second.step() > 0, what="something more has happened")
    last = results.progress()
    assert last is not None
    assert last.clock == first.clock
    happened = list(happened_until(morning, last.sent_until))
    expected = [topic for event in happened for topic, _ in messages(event)]
    assert {sample.topic.name: sample.counters.sent for sample in inspector.sample()} == {
        "departure-board": expected.count("departure-board"),
        "rebooking": expected.count("rebooking"),
        "gate-close": len(morning.days[0].flights),
        "flight-events": len(happened),
        "cancellations": 0,  # what a route brings
    }


def test_what_an_operator_did_to_a_gate_outlives_a_short_absence_only(rmq: RMQ, program: Program) -> None:
    inspector, control, results = Inspector(rmq), Control(rmq), Results(rmq)
    program = Program([Day(day.date, day.flights[-5:]) for day in program.days])
    for topic in TOPICS:
        rmq.define(topic)
    gone, kept = (flight.id for flight in program.days[1].flights[:2])

    Replay(rmq, program, rate=0).step()
    (before,) = inspector.find(GATE_CLOSE.name, kept)
    (result,) = control.cancel(GATE_CLOSE.name, [gone])
    assert result.status == "done"

    Replay(rmq, program, rate=0).step()
    assert not inspector.find(GATE_CLOSE.name, gone)
    assert inspector.find(GATE_CLOSE.name, kept)[0].row.score_ms == before.row.score_ms

    progress = results.progress()
    assert progress is not None
    results.save_progress(replace(progress, saved_ms=progress.saved_ms - CATCH_UP_MS))
    Replay(rmq, program, rate=0).step()
    assert inspector.find(GATE_CLOSE.name, gone)
    assert inspector.find(GATE_CLOSE.name, kept)[0].row.score_ms > before.row.score_ms


def test_a_route_that_an_operator_changed_stays_so(rmq: RMQ, program: Program) -> None:
    Replay(rmq, program, rate=0).step()
    (status,) = Inspector(rmq).routes(GATES_CLOSED.name)
    changed = Control(rmq).put_route(replace(status.route, targets=(Target(CANCELLATIONS.name),)), status.route.version)
    Replay(rmq, program, rate=0).step()
    assert Inspector(rmq).routes(GATES_CLOSED.name)[0].route == changed


def test_gates_that_closed_before_a_long_absence_are_not_planned_again(rmq: RMQ, program: Program) -> None:
    noon = 450 * 60_000
    for topic in TOPICS:
        rmq.define(topic)
    Results(rmq).save_progress(Progress(Clock(0, 0, 60), noon, 4, 0))
    Replay(rmq, program, rate=0).step()
    planned = [position for lap in range(GATE_LAPS) for position, _ in program.gates(lap)]
    assert sent(Inspector(rmq), "gate-close") == sum(position > noon for position in planned) < len(planned)


def test_gates_of_days_to_come_wait(rmq: RMQ, program: Program) -> None:
    Replay(rmq, program, rate=0).step()
    page = Inspector(rmq).messages(GATE_CLOSE.name, "delayed", newest=True, limit=1)
    progress = Results(rmq).progress()
    assert progress is not None
    last_ms = max(progress.clock.wall_at(position) for position, _ in program.gates(GATE_LAPS - 1))
    assert page.rows[0].score_ms == last_ms


def test_the_same_day_is_not_planned_twice_at_a_time(rmq: RMQ, morning: Program) -> None:
    """Its second gates would merge into the first, and put them off for a day."""
    Replay(rmq, morning, rate=0).step()
    (sample,) = Inspector(rmq).sample([GATE_CLOSE.name])
    assert (sample.counters.sent, sample.counters.merged) == (len(morning.days[0].flights), 0)


def test_reports_and_requests_fill_up_to_the_rate(rmq: RMQ, program: Program) -> None:
    """By the counters, over time as the replay itself saw it pass; what events take is not filled again."""
    inspector, results = Inspector(rmq), Results(rmq)
    replay = Replay(rmq, program, rate=2_000)
    replay.step()
    first = results.progress()
    assert first is not None
    burst = sent(inspector, "departure-board") + sent(inspector, "rebooking")
    assert 0 < burst < 2_000  # what happened before six o'clock
    passed_ms = 0

    def a_second_has_passed() -> bool:
        nonlocal passed_ms
        replay.step()
        now = results.progress()
        assert now is not None
        passed_ms = now.saved_ms - first.saved_ms
        return passed_ms >= 1_000

    wait_until(a_second_has_passed, what="a second of replay")
    total = sent(inspector, "departure-board") + sent(inspector, "rebooking")
    assert passed_ms < total <= 2_000 * passed_ms / 1_000


def test_while_nobody_flies_screens_make_up_the_rate(rmq: RMQ, program: Program) -> None:
    """As in the night of the blizzard, when New York's airports were closed."""
    grounded = Program([Day(day.date, tuple(f for f in day.flights if f.cancelled)) for day in program.days])
    assert not grounded.airborne(START_MS)
    replay = Replay(rmq, grounded, rate=2_000)
    replay.step()
    before = sent(Inspector(rmq), "departure-board")
    wait_until(lambda: replay.step() > 20, what="screens ask for their boards")
    assert sent(Inspector(rmq), "departure-board") > before
    (sample,) = Inspector(rmq).sample([DEPARTURE_BOARD.name])
    assert sample.backlog <= len(grounded.boards(START_MS))


def test_a_rate_of_zero_leaves_the_events_alone(rmq: RMQ, program: Program) -> None:
    replay = Replay(rmq, program, rate=0, speed=HOUR_A_SECOND)
    for _ in range(3):
        replay.step()
    progress = Results(rmq).progress()
    assert progress is not None
    assert sent(Inspector(rmq), "departure-board") == 2 * len(list(happened_until(program, progress.sent_until)))


def test_it_waits_for_a_server_that_was_killed(tmp_path: Path, morning: Program) -> None:
    with EmbeddedRedis(tmp_path, appendonly=True) as server, RMQ(server.url, retry_for_ms=100) as rmq:
        results = Results(rmq)

        def saved_ms() -> int:
            progress = results.progress()
            return progress.saved_ms if progress else 0

        with running(Replay(rmq, morning, rate=300)):
            wait_until(saved_ms, what="the replay has begun")
            server.kill()
            server.start()
            with RMQ(server.url) as patient:
                before = Inspector(patient).now_ms()
            wait_until(lambda: saved_ms() > before, what="the replay goes on")


def test_it_defines_its_topics_again_when_somebody_deleted_them(rmq: RMQ, morning: Program) -> None:
    with running(Replay(rmq, morning, rate=300)):
        wait_until(lambda: len(Inspector(rmq).topics()) == len(TOPICS), what="the topics are defined")
        for topic in TOPICS:
            Control(rmq).delete_topic(topic.name, force=True)
        wait_until(lambda: len(Inspector(rmq).topics()) == len(TOPICS), what="the topics are defined again")


class TestResume:
    """Pure: where to go on."""

    SAVED = Progress(Clock(1_000_000, 0, 60), 3 * DAY_MS + 5, 7, 5_000_000)

    def test_the_first_time_it_begins_in_the_morning_and_sends_what_was_before(self) -> None:
        assert resume(None, 77, 60) == Progress(Clock(77, START_MS, 60), -1, 0, 77)

    def test_after_a_moment_the_clock_has_gone_on(self) -> None:
        assert resume(self.SAVED, 5_000_000 + CATCH_UP_MS, 60) is self.SAVED

    def test_after_a_night_the_clock_is_where_it_was_and_gates_are_planned_anew(self) -> None:
        now_ms = 5_000_000 + CATCH_UP_MS + 1
        expected = Progress(Clock(now_ms, 3 * DAY_MS + 5, 60), 3 * DAY_MS + 5, 3, now_ms)
        assert resume(self.SAVED, now_ms, 60) == expected
        assert expected.clock.position_at(now_ms) == self.SAVED.sent_until

    def test_another_speed_is_another_clock(self) -> None:
        resumed = resume(self.SAVED, 5_000_001, 120)
        assert (resumed.clock.speed, resumed.clock.position_at(5_000_001)) == (120, self.SAVED.sent_until)

    def test_it_is_stored_as_text(self) -> None:
        assert Progress.from_json(self.SAVED.to_json()) == self.SAVED


def happened_until(program: Program, position: int) -> Iterator[Event]:
    return (event for _, event in itertools.takewhile(lambda each: each[0] <= position, program.events_after(-1)))


def acked(inspector: Inspector) -> list[int]:
    """Of every topic, and of every consumer group of those that are streams."""
    return [sample.counters.acked for sample in inspector.sample(groups=True) if not sample.topic.is_stream]


def sent(inspector: Inspector, topic: str) -> int:
    (sample,) = inspector.sample([topic])
    return sample.counters.sent
