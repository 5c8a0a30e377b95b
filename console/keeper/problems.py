"""What is wrong, found out of the numbers: a pure function, so that every viewer sees the same list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from console.keeper.tracker import Numbers
from console.models import DataLoss
from console.outbox.figures import Figures
from console.snapshots.acknowledgements import Acknowledgement
from console.snapshots.objectives import Objective
from rmq_core.journal.trimmer import JournalState
from rmq_core.model.bands import Bands
from rmq_core.model.topic import Topic
from rmq_core.model.views import ServerInfo, Unreadable, WorkerInfo
from rmq_core.routes.status import RouteStatus
from rmq_core.streams.course import Course, Verdict

Severity = Literal["critical", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")
MEMORY_WARNING, MEMORY_CRITICAL = 85, 95
"""Percent of what the server may use; of a Cluster, of the node with least room."""
LAG_CRITICAL = 10
"""Lags so many times longer than what is warned of are critical."""
BACKLOG_NOTED, BACKLOG_GROWTH, BACKLOG_CREEP = 1_000, 1.2, 1.02
"""Above the first a backlog of ready messages falls behind, once it is so many times larger than it was; the third is
enough of one that grew by the first."""
JOURNAL_WARNING, JOURNAL_CRITICAL = 50, 90
"""Percent of what the fullest slot may hold before sends to it are refused."""
BURN_CRITICAL, BURN_LATE_LEAST = 10, 10
"""The lateness budget of a week, used up so many times too fast for an hour, by so many late deliveries at least."""
STUCK_AFTER = 2.0
"""A delivery is stuck when it is older than this many visibility timeouts."""


@dataclass(frozen=True)
class Problem:
    """`code` names the sentence the page shows; `values` fills it in; `topic` None: the whole installation;
    `since_ms` None: not known (yet)."""

    code: str
    severity: Severity
    topic: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    since_ms: int | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class TopicState(NamedTuple):
    """What is known of one topic. `dead_before`: dead letters a few minutes ago; `ledger_gaps`: of the last samples.
    `unowned`: slots without an owner though the topic's workers own slots. `journal`: of a topic that has one."""

    topic: Topic
    numbers: Numbers
    workers: int
    dead_before: int
    ready_before: int
    ledger_gaps: Sequence[int]
    unowned: int = 0
    journal: JournalState | None = None
    unacknowledged: int | None = None
    """Of the dead letters; None: all of them."""
    acknowledgement: Acknowledgement | None = None
    missed_before: int = 0
    """Of a consumer group: what it had missed a few minutes ago."""
    verdict: Verdict | None = None
    """Of a consumer group: how it does, by its course."""
    routed: bool = False
    """Whether a route takes from it, and runs."""
    objective: Objective | None = None
    """Where it has a lateness objective: how that is kept."""
    at_most_once: int = 0
    """Of the workers those with ``acks="none"``."""
    bands: Bands | None = None
    """Of a priority topic: what waits, by priority."""


def find_problems(
    states: Iterable[TopicState],
    server: ServerInfo | None,
    workers: Sequence[WorkerInfo],
    lag_warning_ms: int,
    unreadable: Sequence[Unreadable] = (),
    outboxes: Sequence[Figures] = (),
    routes: Sequence[RouteStatus] = (),
    recurring_failing: int = 0,
    loss: DataLoss | None = None,
) -> list[Problem]:
    """Everything that needs somebody's attention, worst first."""
    found = list(_of_server(server)) if server else []
    if loss is not None:
        values = {"seen_ms": loss.seen_ms, "found_ms": loss.found_ms, "back_ms": loss.back_ms}
        found.append(Problem("data_lost", "critical", None, values, loss.found_ms))
    found += [
        Problem(f"unreadable_{each.kind}", "critical", None, {"name": each.name, "problem": each.problem})
        for each in unreadable
    ]
    found += [
        Problem("worker_lost", "warning", None, {"worker": worker.name, "host": worker.host})
        for worker in workers
        if worker.state == "lost"
    ]
    away = [worker.name for worker in workers if worker.state == "running" and worker.session in {"suspended", "lost"}]
    if away:
        found.append(Problem("zookeeper_away", "critical", None, {"count": len(away), "worker": away[0]}))
    for state in states:
        found += _of_topic(state, lag_warning_ms)
    for outbox in outboxes:
        found += _of_outbox(outbox, lag_warning_ms)
    if recurring_failing:
        found.append(Problem("recurring_failing", "warning", None, {"count": recurring_failing}))
    for route in routes:
        found += _of_route(route)
    return sorted(found, key=lambda problem: (SEVERITIES.index(problem.severity), problem.topic or ""))


def _of_topic(state: TopicState, lag_warning_ms: int) -> list[Problem]:
    topic, numbers = state.topic, state.numbers
    found: list[Problem] = []

    def add(code: str, severity: Severity, **values: Any) -> None:
        found.append(Problem(code, severity, topic.name, values))

    # A script settles and counts at once, but a sample of several slots is not one instant: look twice.
    if len(state.ledger_gaps) > 1 and all(state.ledger_gaps):
        add("ledger", "critical", gap=state.ledger_gaps[-1])
    if state.unowned and state.workers:
        add("unowned", "critical", slots=state.unowned, all=topic.slots)
    if topic.is_group and numbers.lag is None:
        add("lag_unknown", "warning")
    if numbers.missed > state.missed_before:
        add("missed", "warning", more=numbers.missed - state.missed_before, missed=numbers.missed)
    if topic.paused_at(numbers.at_ms):
        until_ms = 0 if topic.paused else getattr(topic, "paused_until_ms", 0)
        add("paused", "info", ready=numbers.ready, until_ms=until_ms)
    elif not state.workers and not state.routed and numbers.ready and not numbers.out_s:
        add("no_workers", "critical", ready=numbers.ready)
    elif state.verdict is not None:
        if state.verdict.course is Course.STUCK:
            add("group_stuck", "critical", lag=state.verdict.lag, for_ms=state.verdict.for_ms)
        elif state.verdict.course is Course.FALLING_BEHIND and numbers.lag_ms > lag_warning_ms:
            now, before = state.verdict.lag, state.verdict.lag_before
            add("group_behind", "warning", lag=now, before=before, lag_ms=numbers.lag_ms)
    elif numbers.lag_ms > lag_warning_ms:
        add(
            "lagging",
            "critical" if numbers.lag_ms > LAG_CRITICAL * lag_warning_ms else "warning",
            lag_ms=numbers.lag_ms,
        )
    elif not topic.timed and _falls_behind(numbers.ready, state.ready_before):
        add("falling_behind", "warning", ready=numbers.ready, before=state.ready_before)
    if numbers.order_ms > lag_warning_ms and not topic.paused:
        add("order_stuck", "warning", keys=numbers.order_keys, for_ms=numbers.order_ms)
    if state.bands is not None and (starving := state.bands.starving):
        longest = starving[0]
        where = {"slots": len({each.slot for each in starving}), "slot": longest.slot, "priority": longest.priority}
        add("starving", "warning", **where, waited_ms=longest.waited_ms, overtaken=longest.overtaken)
    fresh = numbers.dead if state.unacknowledged is None else state.unacknowledged
    if fresh and numbers.dead > state.dead_before:
        add("dead_growing", "warning", dead=numbers.dead, more=numbers.dead - state.dead_before, fresh=fresh)
    elif fresh:
        add("dead", "warning", dead=numbers.dead, fresh=fresh)
    if numbers.oldest_ms is not None and numbers.oldest_ms > STUCK_AFTER * topic.visibility_timeout_ms:
        add("stuck", "warning", oldest_ms=numbers.oldest_ms)
    if (kept := state.objective) is not None:
        if kept.burn >= BURN_CRITICAL and kept.burn_now >= 1 and kept.late_in_hour >= BURN_LATE_LEAST:
            values = {"burn": kept.burn, "late": kept.late_in_hour, "objective_ms": kept.objective_ms}
            add("objective_burning", "critical", **values)
        elif kept.budget <= 0 and kept.late >= BURN_LATE_LEAST:
            add("objective_missed", "warning", late=kept.late, total=kept.total, objective_ms=kept.objective_ms)
    if state.journal is not None and state.journal.slot_limit:
        share = 100 * state.journal.fullest // state.journal.slot_limit
        if share >= JOURNAL_WARNING:
            add("journal_full", "critical" if share >= JOURNAL_CRITICAL else "warning", share=min(100, share))
    return found


def _falls_behind(ready: int, before: int) -> bool:
    crept = ready - before >= BACKLOG_NOTED and ready > BACKLOG_CREEP * before
    return ready > BACKLOG_NOTED and (crept or ready > BACKLOG_GROWTH * before)


def _of_route(status: RouteStatus) -> Iterable[Problem]:
    name = {"route": status.route.name}
    if status.state == "failing":
        yield Problem("route_failing", "warning", None, name | {"problem": status.problem})
    elif status.state == "idle" and status.waiting:
        yield Problem("route_idle", "warning", None, name | {"waiting": status.waiting})


def _of_outbox(outbox: Figures, lag_warning_ms: int) -> Iterable[Problem]:
    of = {"database": outbox.database}
    if outbox.problem:
        yield Problem("outbox_away", "critical", None, of | {"problem": outbox.problem})
    if outbox.lag_ms > lag_warning_ms:
        severity: Severity = "critical" if outbox.lag_ms > LAG_CRITICAL * lag_warning_ms else "warning"
        yield Problem("outbox_lagging", severity, None, of | {"lag_ms": outbox.lag_ms, "waiting": outbox.waiting})
    if outbox.parked:
        yield Problem("outbox_parked", "warning", None, of | {"parked": outbox.parked})


def _of_server(server: ServerInfo) -> Iterable[Problem]:
    if server.policy != "noeviction":
        yield Problem("eviction", "critical", None, {"policy": server.policy})
    if (used := 100 * server.fullest) > MEMORY_WARNING:
        share = round(used)
        yield Problem("memory", "critical" if share >= MEMORY_CRITICAL else "warning", None, {"share": share})
