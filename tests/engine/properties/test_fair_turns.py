"""Whatever tenants send, take and cancel: whoever waits is passed by each other tenant as often as its weight says."""

from __future__ import annotations

from collections import Counter, defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st
from redis import Redis

from rmq_core import RMQ, Control, MessageRef, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.journal.entries import priority_of
from rmq_core.model.scores import LANE, PRIORITY_PLACES, TAKEN_NEW, plain_of, priority_score
from rmq_core.pipeline.sources.decoding import whole
from tests.support.keys import remove_keys_of

WEIGHTS = {"a": 1, "b": 3, "c": 1, "d": 10}
ONCE_MORE = 2
"""A turn that had begun, and one for who comes anew."""
tenants = st.sampled_from(sorted(WEIGHTS))
steps = st.one_of(
    st.tuples(st.just("send"), tenants, st.integers(1, 12)),
    st.tuples(st.just("take"), st.just(""), st.integers(1, 9)),
    st.tuples(st.just("take"), st.just(""), st.integers(1, 9)),
    st.tuples(st.just("cancel"), tenants, st.integers(1, 6)),
)


@settings(max_examples=max(20, settings().max_examples // 4))
@given(several=st.lists(steps, min_size=5, max_size=40))
def test_nobody_is_passed_too_often(redis_server: EmbeddedRedis, several: list[tuple[str, str, int]]) -> None:
    with RMQ(redis_server.url, "turns") as rmq, Redis.from_url(redis_server.url) as plain:
        try:
            run(rmq, several)
        finally:
            remove_keys_of(plain, "turns")


def run(rmq: RMQ, several: list[tuple[str, str, int]]) -> None:
    weights = ", ".join(f"{name}={weight}" for name, weight in WEIGHTS.items())
    rmq.define(Topic("t", TopicKind.PRIORITY, slots=1, fair=True, tenant_weights=weights))
    waiting: defaultdict[str, list[str]] = defaultdict(list)
    passed: defaultdict[str, Counter[str]] = defaultdict(Counter)
    sent = 0
    for what, tenant, count in several:
        if what == "send":
            names = [f"{tenant}{sent + n}" for n in range(count)]
            sent += count
            rmq.send_many("t", [PriorityMessage(name, 20, tenant=tenant) for name in names])
            waiting[tenant] += names
        elif what == "cancel":
            gone, waiting[tenant] = waiting[tenant][:count], waiting[tenant][count:]
            Control(rmq).cancel("t", [MessageRef(0, name) for name in gone])
        else:
            taken = rmq.take("t", count)
            assert len(taken) == min(count, sum(map(len, waiting.values())))
            for each in taken:
                assert waiting[each.tenant].pop(0) == each.text, "a tenant's own in their order"
                passed.pop(each.tenant, None)
                for other in WEIGHTS:
                    if other != each.tenant and waiting[other]:
                        passed[other][each.tenant] += 1
                        most = -(-WEIGHTS[each.tenant] // WEIGHTS[other]) + ONCE_MORE
                        assert passed[other][each.tenant] <= most, (other, each.tenant)
            rmq.ack(taken)
        for name in WEIGHTS:
            if not waiting[name]:
                passed.pop(name, None)


@given(priority=st.integers(17, 1_023), number=st.integers(0, 2**32 - 1), lane=st.integers(1, 2_047))
def test_a_score_in_a_lane_is_that_without_it(priority: int, number: int, lane: int) -> None:
    """For whoever shows it, replays it, reconciles it or puts it back."""
    score = float(lane * LANE + priority * PRIORITY_PLACES - number)
    assert int(score) == lane * LANE + priority * PRIORITY_PLACES - number, "exact"
    assert plain_of(score) == priority_score(priority, number)
    assert priority_of(score) == whole(score, timed=False) == priority
    assert (score > TAKEN_NEW) == (lane == 2_047)
