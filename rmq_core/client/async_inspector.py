"""The same as `rmq_core.client.inspector`, awaited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack, cast

from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.journal import trimmer
from rmq_core.journal.trimmer import JournalState
from rmq_core.model.bands import Bands
from rmq_core.model.composing import Content, SendOptions, compose
from rmq_core.model.filters import MessageFilter
from rmq_core.model.group import Group
from rmq_core.model.holds import Hold
from rmq_core.model.message import Message
from rmq_core.model.samples import TopicSample
from rmq_core.model.states import State
from rmq_core.model.tenants import TenantLoads
from rmq_core.model.topic import Topic
from rmq_core.model.views import (
    Ages,
    DeadCluster,
    MessageView,
    Page,
    Preview,
    RefSelection,
    SearchPage,
    Selection,
    ServerInfo,
    SlotDetail,
    Unreadable,
    WorkerInfo,
)
from rmq_core.ops import holds, placement
from rmq_core.ops.placement import Overrides
from rmq_core.queries import (
    bands,
    by_filter,
    by_id,
    by_text,
    clusters,
    definitions,
    fleet,
    load,
    message_rows,
    owners,
    present,
    sampling,
    slot_details,
    stored_groups,
)
from rmq_core.queries.order import Order, order
from rmq_core.queries.owners import OwnershipEvent, SlotOwner
from rmq_core.queries.sampling import SampleCache
from rmq_core.routes import status as route_status
from rmq_core.routes.status import RouteStatus
from rmq_core.streams.members import Member
from rmq_core.why import asking
from rmq_core.why.answer import Why
from rmq_core.why.facts import Pace
from rmq_core.why.what_if import WhatIf, what_if


class AsyncInspector:
    """The same reads, awaited."""

    def __init__(self, client: AsyncRMQ) -> None:
        self.client = client
        self._cache = SampleCache()

    @property
    def unreadable(self) -> tuple[Unreadable, ...]:
        """Definitions that the last `sample` could not read, and left out."""
        return self._cache.unreadable

    async def now_ms(self) -> int:
        """The Redis clock."""
        return await self.client.run(present.now_ms(self.client.keyspace))

    async def topics(self) -> list[Topic]:
        """Every definition, by name."""
        return await self.client.run(definitions.read_all(self.client.keyspace))

    async def groups(self, topic: str | Topic) -> list[Group]:
        """The consumer groups of a stream topic, by name."""
        return await self.client.run(self.client.on_stream(stored_groups.read_all, topic))

    async def queues(self) -> list[Topic]:
        """What is taken from and settled: topics that are no streams, and the consumer groups of those that are."""
        return await self.client.run(definitions.read_queues(self.client.keyspace))

    async def members(self, group: str | Topic) -> list[Member]:
        """Who takes from a consumer group (``<topic>@<group>``): what each has, how much it does."""
        return await self.client.run(self.client.members(group))

    async def holds(self, topic: str | Topic) -> list[Hold]:
        """The keys that are held, and how much each hold keeps back."""
        return await self.client.run(self.client.on_topic(holds.holds, topic))

    async def order(self, topic: str | Topic, most: int = 100, key: str | bytes | None = None) -> Order:
        """Of a topic `in_order`: which keys wait for which version, and where that is; or one key."""
        return await self.client.run(self.client.on_topic(order, topic, most, key))

    async def sample(self, topic_names: Sequence[str] | None = None, *, groups: bool = False) -> list[TopicSample]:
        """The state of topics (None: all; ``groups``: and of all groups). Cheap to repeat: only what changed is read
        again. A group is named as ``<topic>@<group>``.
        """
        spread = self.client.target.is_cluster
        return await self.client.run(sampling.sample(self.client.keyspace, self._cache, spread, topic_names, groups))

    async def slot(self, topic: str, slot: int, heads: int = 10) -> SlotDetail:
        """One slot: counts, next messages, messages in flight."""
        return await self.client.run(self.client.on_topic(slot_details.slot, topic, slot, heads))

    async def messages(
        self,
        topic: str,
        state: State,
        *,
        slot: int | None = None,
        newest: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page:
        """One page of a state."""
        return await self.client.run(
            self.client.on_topic(message_rows.page, topic, state, slot=slot, newest=newest, limit=limit, cursor=cursor)
        )

    async def prepare_ages(self, topic: str) -> Ages:
        """How long deliveries have been in flight."""
        return await self.client.run(self.client.on_topic(slot_details.prepare_ages, topic))

    async def forecast(self, topic: str, minutes: int = 60, step_minutes: int = 1) -> tuple[int, ...]:
        """Messages due in each coming minute, or step of so many minutes."""
        return await self.client.run(self.client.on_topic(slot_details.forecast, topic, minutes, step_minutes))

    async def tenants(self, topic: str, limit: int = 20) -> TenantLoads:
        """Who causes the load: the tenants of which most was sent or taken lately."""
        return await self.client.run(self.client.on_topic(load.tenants, topic, limit))

    async def bands(self, topic: str, slot: int | None = None) -> Bands:
        """What waits by priority, for how long and behind how many; of all slots or one."""
        spread = self.client.target.is_cluster
        return await self.client.run(self.client.on_topic(bands.bands, topic, self._cache, spread, slot))

    async def find(self, topic: str, ident: str | bytes, slot_basis: str | bytes | None = None) -> list[MessageView]:
        """Every message with that id."""
        return await self.client.run(self.client.on_topic(by_id.find, topic, ident, slot_basis))

    async def removed(self, topic: str, ident: str | bytes, slot_basis: str | bytes | None = None) -> list[MessageView]:
        """What was cancelled or dropped under that id and can still be restored."""
        return await self.client.run(self.client.on_topic(by_id.removed, topic, ident, slot_basis))

    async def why(
        self,
        topic: str,
        ident: str | bytes | None = None,
        *,
        slot: int | None = None,
        slot_basis: str | bytes | None = None,
        pace: Pace | None = None,
    ) -> Why:
        """Why a message, a slot or the whole topic is late, with evidence. ``pace``: what was measured of the topic."""
        spread = self.client.target.is_cluster
        asked = (ident, slot, slot_basis, pace)
        return await self.client.run(self.client.on_topic(asking.why, topic, self._cache, spread, *asked))

    async def what_if(
        self, topic: str, message: Message | Content, *, allow_past: bool = False, **options: Unpack[SendOptions]
    ) -> WhatIf:
        """What a send of that would do now: whether it merges, and whose content and time win. Sends nothing."""
        made = compose(message, options) if options else message
        return await self.client.run(self.client.on_topic(what_if, topic, cast(Message, made), allow_past))

    async def search(
        self,
        topic: str,
        text: str = "",
        *,
        where: str = "",
        state: State = "ready",
        limit: int = 50,
        scan: int = 1_000,
        cursor: str | None = None,
    ) -> SearchPage:
        """A bounded scan of contents: for a text, or for what a comparison holds for (``order.total > 100``)."""
        return await self.client.run(
            self.client.on_topic(
                by_text.search, topic, text, where=where, state=state, limit=limit, scan=scan, cursor=cursor
            )
        )

    async def select(
        self,
        topic: str,
        wanted: MessageFilter,
        cursor: str | None = None,
        scan: int = 5_000,
        limit: int | None = None,
    ) -> Selection:
        """The messages a filter selects, out of the next ``scan``. Raises `InvalidFilter`."""
        return await self.client.run(
            self.client.on_topic(by_filter.select, topic, wanted, cursor=cursor, scan=scan, limit=limit)
        )

    async def select_refs(
        self,
        topic: str,
        wanted: MessageFilter,
        cursor: str | None = None,
        scan: int = 5_000,
        limit: int | None = None,
    ) -> RefSelection:
        """Their addresses alone: what acting on many needs."""
        return await self.client.run(
            self.client.on_topic(by_filter.select_refs, topic, wanted, cursor=cursor, scan=scan, limit=limit)
        )

    async def preview(self, topic: str, wanted: MessageFilter, scan: int = 20_000) -> Preview:
        """How many messages a filter selects, exactly or as an estimate, and some of them. Raises `InvalidFilter`."""
        return await self.client.run(self.client.on_topic(by_filter.preview, topic, wanted, scan=scan))

    async def dead_clusters(self, topic: str) -> tuple[DeadCluster, ...]:
        """Dead letters by what they died of, the largest cluster first."""
        return await self.client.run(self.client.on_topic(clusters.dead_clusters, topic))

    async def assignment(self, topic: str) -> tuple[SlotOwner, ...]:
        """Who owns each slot, under which epoch, since when."""
        return await self.client.run(self.client.on_any_topic(owners.owners, topic))

    async def ownership_timeline(
        self, topic: str, slot: int | None = None, limit: int = 100
    ) -> tuple[OwnershipEvent, ...]:
        """Who acquired and released which slots when, newest first; bounded."""
        return await self.client.run(self.client.on_any_topic(owners.timeline, topic, slot, limit))

    async def journal(self, topic: str) -> JournalState:
        """How large a topic's journal is, and how far behind its readers are."""
        return await self.client.run(self.client.on_any_topic(trimmer.state, topic))

    async def placement_overrides(self) -> Overrides:
        """Drained workers and pinned slots."""
        return await self.client.run(placement.read(self.client.keyspace))

    async def routes(self, name: str | None = None) -> list[RouteStatus]:
        """How the routes do (None: all), by name. Raises `UnknownRoute`."""
        now_ms = await self.now_ms()
        return await self.client.run(route_status.read(self.client.keyspace, self._cache, now_ms, name))

    async def workers(self) -> list[WorkerInfo]:
        """Workers seen lately."""
        return await self.client.run(fleet.workers(self.client.keyspace))

    async def server(self) -> ServerInfo:
        """The Redis server."""
        return await self.client.run(fleet.server(self.client.keyspace))
