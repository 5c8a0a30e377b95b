"""Everything once a second: samples in, frames and history out."""

from __future__ import annotations

import json
import logging
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from console.alerts.standing import Standing
from console.engine import AsyncEngine
from console.keeper.courses import GroupCourse
from console.keeper.fleet import fleet_frame, unowned
from console.keeper.frames import Observed, group_line, overview_frame, topic_frame
from console.keeper.metrics import LOADS_MS, METRICS_MS, TENANTS_SHOWN, metrics_frame
from console.keeper.objectives import Objectives
from console.keeper.problems import Problem, TopicState, find_problems
from console.keeper.readable import AWAY, TopicReader, words_of
from console.keeper.texts import Texts
from console.keeper.tracker import TopicTracker
from console.models import DataLoss
from console.outbox.figures import Figures
from console.serializers.text import dumps
from console.snapshots import acknowledgements, store
from console.snapshots.acknowledgements import Acknowledgement, Unacknowledged
from console.snapshots.groups import FLEET
from console.snapshots.store import LiveKeys
from rmq_core.journal.trimmer import JournalState
from rmq_core.journal.trimmer import state as journal_state
from rmq_core.model.bands import Bands
from rmq_core.model.group import AT
from rmq_core.model.samples import TopicSample
from rmq_core.model.stats import Histogram
from rmq_core.model.tenants import TenantLoads
from rmq_core.model.topic import Topic, TopicKind
from rmq_core.model.views import ServerInfo, Unreadable, WorkerInfo
from rmq_core.ops import bands
from rmq_core.ops.reaper import reap_overdue
from rmq_core.queries import fleet as workers_of
from rmq_core.routes.status import RouteStatus

log = logging.getLogger("console.keeper")

SPARK_MS = 15_000
SPARKS = 60
RECENT = 20
"""Of so many coarse points (five minutes) the oldest is what "growing" is measured against."""
WORKERS_EVERY = 2
SERVER_EVERY = 5
JOURNALS_EVERY = 5
BANDS_EVERY = 5


@dataclass
class _Known:
    """What is remembered of one topic between rounds."""

    tracker: TopicTracker = field(default_factory=TopicTracker)
    texts: Texts = field(default_factory=Texts)
    sparks: deque[int] = field(default_factory=lambda: deque(maxlen=SPARKS))
    recent: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=RECENT))
    gaps: deque[int] = field(default_factory=lambda: deque(maxlen=3))
    bucket: int = -1
    unowned: deque[int] = field(default_factory=lambda: deque(maxlen=2))
    journal: JournalState | None = None
    unacknowledged: Unacknowledged = field(default_factory=Unacknowledged)
    fresh_dead: int = 0
    bands: Bands | None = None
    course: GroupCourse = field(default_factory=GroupCourse)


@dataclass(frozen=True)
class Round:
    """The result of one round: its number, which is its time; the topics whose frames were written because they are
    watched; how many messages of orphaned slots were put back, by topic; and what was seen."""

    seq: int
    watched: tuple[str, ...]
    reaped: dict[str, int]
    samples: Sequence[TopicSample] = ()
    states: Sequence[TopicState] = ()
    """In the same order."""
    lateness: Mapping[str, Histogram] = field(default_factory=dict)
    """Of what was delivered since the round before, by topic."""
    observed: Observed | None = None


class Sampler:
    """Samples, computes, writes. Keeps everything it needs to compute rates; the rest is in Redis."""

    def __init__(
        self,
        engine: AsyncEngine,
        keys: LiveKeys,
        interval_ms: int,
        lag_warning_ms: int,
        leads: Callable[[], bool] = lambda: True,
    ) -> None:
        self.engine = engine
        self.keys = keys
        self.interval_ms = interval_ms
        self.lag_warning_ms = lag_warning_ms
        self._leads = leads
        self._known: defaultdict[str, _Known] = defaultdict(_Known)
        self._reader = TopicReader(engine)
        self._workers: list[WorkerInfo] = []
        self._losing: Counter[str] = Counter()
        self._listening: Counter[str] = Counter()
        """How many workers are there for each topic."""
        self._bad_workers: list[Unreadable] = []
        self._bad: frozenset[Unreadable] = frozenset()
        self._server: ServerInfo | None = None
        self.outboxes: Sequence[Figures] = ()
        self.recurring_failing = 0
        self.alerts = Standing()
        self.loss: DataLoss | None = None
        self.since: Callable[[Problem], int | None] = lambda problem: None
        self._routes: Sequence[RouteStatus] = ()
        self._routed: frozenset[str] = frozenset()
        self._rounds = 0
        self._heard = False
        self._sparks_at = -1
        self._metrics_at = 0
        self._loads_at = 0
        self._loads: dict[str, TenantLoads] = {}
        self._acknowledged: dict[str, Acknowledgement] = {}
        self._objectives = Objectives(engine, keys.objectives)

    async def restore(self) -> None:
        """Go on with the coarse history another keeper has left."""
        await self._objectives.restore()
        try:
            stored = await self.engine.client.run(store.read_text(self.keys.sparks))
            for name, values in (json.loads(stored)["sparks"] if stored else {}).items():
                self._known[name] = _Known(sparks=deque(map(int, values), maxlen=SPARKS))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            log.warning("the history another keeper has left cannot be read, and starts again: %s", words_of(error))
            self._known = defaultdict(_Known)

    async def round(self) -> Round:
        """One round; raises the engine's errors when Redis is away."""
        run = self.engine.client.run
        await self._look_around()
        samples = await self._reader.samples()
        reaped = await self._reap(samples)
        at_ms = max((sample.at_ms for sample in samples), default=0) or await self.engine.inspector.now_ms()
        watched = await run(store.watched(self.keys.watch, at_ms))
        await self._look_at_journals(samples)
        await self._look_at_bands(samples)
        await self._look_at_dead_letters(samples)
        states = [self._take_in(sample) for sample in samples]
        problems = find_problems(
            states,
            self._server,
            self._workers,
            self.lag_warning_ms,
            self._unreadable(),
            self.outboxes,
            self._routes,
            self.recurring_failing,
            self.loss,
        )
        problems = [each if each.since_ms else replace(each, since_ms=self.since(each)) for each in problems]
        seen = Observed(at_ms, self.interval_ms, problems, self._workers, self._server)
        trackers = {name: known.tracker for name, known in self._known.items()}
        texts = {name: known.texts for name, known in self._known.items()}
        frames = {self.keys.overview: overview_frame(seen, states, trackers, texts)}
        if FLEET in watched:
            topics = [sample.topic for sample in samples]
            frame = await fleet_frame(self.engine, topics, self._workers, at_ms, self.interval_ms)
            frames[self.keys.fleet] = dumps(frame)
        shown = [state for state in states if state.topic.name in watched]
        for state in shown:
            name = state.topic.name
            groups = self._groups_of(state, states, samples) if state.topic.is_stream else []
            frames[self.keys.topic(name)] = dumps(topic_frame(seen, state, trackers[name], groups))
        if at_ms - self._metrics_at >= METRICS_MS:
            self._metrics_at = at_ms
            self._routes = await self.engine.inspector.routes()
            self._routed = frozenset(each.queue for each in self._routes if each.state == "running")
            await self._look_at_tenants(samples, at_ms)
            frames[self.keys.metrics] = metrics_frame(
                states,
                samples,
                self._workers,
                self._server,
                self.outboxes,
                self._routes,
                self.recurring_failing,
                self.alerts,
                self._loads,
                data_lost=self.loss is not None,
                trackers=trackers,
                texts=texts,
            )
        if not self._leads():  # this process was frozen, and another keeper has looked meanwhile
            return Round(at_ms, (), reaped)
        await run(store.write_frames(frames, at_ms))
        points = {}
        for state in states:
            known = self._known[state.topic.name]
            points[self.keys.history(state.topic.name)] = known.texts.point(state, known.tracker)
        keep = store.HISTORY_S * 1000 // self.interval_ms
        at_once = 1 if self.engine.client.keyspace.spread else store.LISTS_AT_ONCE
        await run(store.append_history(points, keep, self._rounds, at_once))
        await self._write_sparks(at_ms)
        await self._objectives.write()
        self._rounds += 1
        self._drop_unknown({sample.topic.name for sample in samples})
        looked_at = tuple(state.topic.name for state in shown) + ((FLEET,) if FLEET in watched else ())
        lateness = {name: tracker.lateness for name, tracker in trackers.items()}
        return Round(at_ms, looked_at, reaped, samples, states, lateness, seen)

    async def _look_at_tenants(self, samples: Sequence[TopicSample], at_ms: int) -> None:
        """Who causes the load of the topics whose messages say whose they are."""
        if at_ms - self._loads_at < LOADS_MS:
            return
        self._loads_at = at_ms
        named = [sample.topic.name for sample in samples if sample.tenants or sample.topic.fair]
        tenants = self.engine.inspector.tenants
        self._loads = {name: await tenants(name, TENANTS_SHOWN) for name in named}

    def _groups_of(
        self, stream: TopicState, states: Sequence[TopicState], samples: Sequence[TopicSample]
    ) -> list[dict[str, Any]]:
        """The lines of a stream's consumer groups."""
        of = f"{stream.topic.name}{AT}"
        return [
            group_line(state, self._known[state.topic.name].tracker, sample)
            for state, sample in zip(states, samples, strict=True)
            if state.topic.name.startswith(of)
        ]

    async def _look_around(self) -> None:
        self._heard = self._rounds % WORKERS_EVERY == 0
        if self._heard:
            self._workers, self._bad_workers = await self.engine.client.run(
                workers_of.read_workers(self.engine.client.keyspace)
            )
            running = [worker for worker in self._workers if worker.state == "running"]
            self._listening = Counter(name for worker in running for name in set(worker.topics))
            self._losing = Counter(name for worker in running for name in set(worker.at_most_once))
        if self._rounds % SERVER_EVERY == 0:
            self._server = await self.engine.inspector.server()

    async def _look_at_journals(self, samples: Sequence[TopicSample]) -> None:
        """Sizes of those that are on, and of those that were and whose readers may have something left."""
        if self._rounds % JOURNALS_EVERY:
            return

        async def look(topic: Topic) -> None:
            known = self._known[topic.name]
            known.journal = await self.engine.client.run(journal_state(self.engine.client.keyspace, topic))

        for sample in samples:
            self._known[sample.topic.name].journal = None
        with_journals = [sample.topic for sample in samples if sample.journal_marks - {None}]
        await self._reader.each("its journal", with_journals, look)

    async def _look_at_bands(self, samples: Sequence[TopicSample]) -> None:
        """What waits by priority; of a topic in which nothing waits, nothing does."""
        if self._rounds % BANDS_EVERY:
            return
        by_name = {sample.topic.name: sample for sample in samples}
        for name in by_name:
            self._known[name].bands = None

        async def look(topic: Topic) -> None:
            found = await self.engine.client.run(bands.note(self.engine.client.keyspace, by_name[topic.name]))
            self._known[topic.name].bands = found

        waiting = [each.topic for each in samples if each.topic.kind is TopicKind.PRIORITY and each.ready]
        await self._reader.each("its priorities", waiting, look)

    async def _reap(self, samples: Sequence[TopicSample]) -> dict[str, int]:
        """Put back what is overdue: of all topics at once, or one by one where that fails."""
        run, keyspace = self.engine.client.run, self.engine.client.keyspace
        await self._follow_deaths(samples)
        try:
            return await run(reap_overdue(keyspace, samples))
        except AWAY:
            raise
        except Exception:
            log.debug("looking after all topics at once failed", exc_info=True)
        by_name = {sample.topic.name: sample for sample in samples}
        reaped: dict[str, int] = {}

        async def look(topic: Topic) -> None:
            reaped.update(await run(reap_overdue(keyspace, [by_name[topic.name]])))

        await self._reader.each("its timeouts", [sample.topic for sample in samples], look)
        return reaped

    async def _follow_deaths(self, samples: Sequence[TopicSample]) -> None:
        """Send what follows messages that died where nobody was there to send it."""
        owing = {sample.topic.name: sample for sample in samples if sample.owing}

        async def look(topic: Topic) -> None:
            for slot in owing[topic.name].owing:
                await self.engine.client.run(self.engine.client.follow_deaths(topic.name, slot.slot))

        await self._reader.each("what follows its dead", [each.topic for each in owing.values()], look)

    def _unreadable(self) -> list[Unreadable]:
        """What is left out of everything, and has to be named."""
        found = [*self.engine.inspector.unreadable, *self._reader.unreadable(), *self._bad_workers]
        for each in frozenset(found) - self._bad:
            log.error("something cannot be read: %s %s: %s", each.kind, each.name, each.problem)
        self._bad = frozenset(found)
        return found

    async def _look_at_dead_letters(self, samples: Sequence[TopicSample]) -> None:
        """How many of each topic nobody has acknowledged; an acknowledgement ends with its topic."""
        run = self.engine.client.run
        found = await run(acknowledgements.read(self.keys.acknowledged))
        versions = {sample.topic.name: sample.topic.version for sample in samples}
        gone = [name for name, each in found.items() if versions.get(name, -1) < each.version]
        await run(acknowledgements.forget(self.keys.acknowledged, gone))
        self._acknowledged = {name: each for name, each in found.items() if name not in gone}
        for sample in samples:
            known = self._known[sample.topic.name]
            known_of = self._acknowledged.get(sample.topic.name)
            if known_of is None or not sample.dead:  # as of most: nothing is to be asked
                known.fresh_dead = known.unacknowledged.all_of(sample.dead)
                continue
            known.fresh_dead = await known.unacknowledged.count(
                self.engine, sample.topic.name, sample.dead, sample.counters.died, known_of
            )

    def _take_in(self, sample: TopicSample) -> TopicState:
        known = self._known[sample.topic.name]
        numbers = known.tracker.update(sample)
        known.gaps.append(numbers.ledger_gap)
        bucket = sample.at_ms // SPARK_MS
        if bucket != known.bucket:
            known.bucket = bucket
            known.sparks.append(numbers.backlog + numbers.length)
            known.recent.append((numbers.dead, numbers.ready, numbers.missed))
        else:
            known.sparks[-1] = max(known.sparks[-1], numbers.backlog + numbers.length)
        if self._heard:
            known.unowned.append(len(unowned(self._workers, sample.topic)))
        # Slots on their way from one worker to another are nobody's for a moment: look twice.
        missing = min(known.unowned) if len(known.unowned) == 2 else 0
        dead_before, ready_before, missed_before = known.recent[0]
        listening = self._listening[sample.topic.name]
        gaps = tuple(known.gaps)
        return TopicState(
            sample.topic, numbers, listening, dead_before, ready_before, gaps, missing, journal=known.journal,
            unacknowledged=known.fresh_dead, acknowledgement=self._acknowledged.get(sample.topic.name),
            missed_before=missed_before, verdict=known.course.update(sample) if sample.topic.is_group else None,
            routed=sample.topic.name in self._routed,
            objective=self._objectives.update(sample),
            bands=known.bands,
            at_most_once=self._losing[sample.topic.name],
        )  # fmt: skip

    async def _write_sparks(self, at_ms: int) -> None:
        if at_ms // SPARK_MS == self._sparks_at:
            return
        self._sparks_at = at_ms // SPARK_MS
        sparks = {name: list(known.sparks) for name, known in self._known.items()}
        text = dumps({"type": "sparks", "at_ms": at_ms, "step_ms": SPARK_MS, "sparks": sparks})
        await self.engine.client.run(store.write_text(self.keys.sparks, text, SPARKS * SPARK_MS))

    def _drop_unknown(self, names: set[str]) -> None:
        self._objectives.forget_others(names)
        for name in set(self._known) - names:
            del self._known[name]
            self.engine.client.forget(name)
