"""Scores mean the same in Python and in Lua, and can be read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model import scores
from rmq_core.model.stats import Histogram
from rmq_core.model.topic import Topic, TopicKind
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import source
from rmq_core.protocol.takes import Nack, cycle, failure_fragment, policy, settle
from tests.engine.clock import START_MS, ClockedRedis

LATEST_MS = scores.SCORE_MAX // scores.SHIFT - 1
max_retries = st.integers(0, 16)
KEYS = Keyspace("scores", spread=False).slot_keys("t", 0)


@given(st.integers(0, LATEST_MS), st.integers(0, 999))
def test_a_stamp_can_be_read_back_exactly_also_as_a_double(at_ms: int, failures: int) -> None:
    stamp = scores.stamp(at_ms, failures)
    assert scores.read_stamp(int(float(stamp))) == (at_ms, failures)


@given(st.integers(0, LATEST_MS), st.integers(0, LATEST_MS), st.integers(0, 999), st.integers(0, 999))
def test_stamps_are_ordered_by_time(one_ms: int, other_ms: int, f: int, g: int) -> None:
    if one_ms < other_ms:
        assert scores.stamp(one_ms, f) < scores.stamp(other_ms, g)


@pytest.mark.parametrize(("at_ms", "failures"), [(-1, 0), (LATEST_MS + 2, 0), (0, -1), (0, 1000)])
def test_what_no_double_can_keep_is_refused(at_ms: int, failures: int) -> None:
    with pytest.raises(ValueError, match="no score"):
        scores.stamp(at_ms, failures)


@given(st.data(), max_retries)
def test_retries_left_and_failures_are_inverse(data: st.DataObject, most: int) -> None:
    failures = data.draw(st.integers(1, 17))
    left = scores.retries_left(failures, most)
    if failures > most:
        assert left is None
    else:
        assert 1 <= left <= 16
        assert scores.is_retried(left)
        assert scores.failures_of(left, most) == failures


# -- places

late_ms = st.integers(scores.PRIORITY_MIN, LATEST_MS)
BORDERS_MS = [2**41 - 1, 2**41, 2**42 - 1, 2**42, 2**43 - 1, LATEST_MS]


@given(late_ms | st.sampled_from(BORDERS_MS), st.data())
def test_a_due_time_and_its_place_come_back(due_ms: int, data: st.DataObject) -> None:
    places = round(1 / scores.place_step(due_ms))
    assert places >= (4096 if due_ms < 2**41 else 512)
    place = data.draw(st.integers(0, places - 1) | st.sampled_from([0, 1, places - 1]))
    score = scores.timed_score(due_ms, place)
    assert scores.due_of(score) == due_ms
    assert scores.exact(repr(score)) == score
    assert (score - due_ms) / scores.place_step(due_ms) == place
    assert scores.timed_score(due_ms, places) == due_ms + 1


@given(st.integers(scores.PRIORITY_MIN, scores.PRIORITY_MAX), st.integers(0, 2**32 - 1))
def test_a_priority_and_its_place_come_back(priority: int, number: int) -> None:
    score = scores.priority_score(priority, number)
    assert scores.priority_of(score) == priority
    assert not scores.is_retried(score)
    assert (priority - score) * scores.PRIORITY_PLACES == number
    if number:
        assert score < scores.priority_score(priority, number - 1)
    assert scores.priority_score(priority, 2**32 - 1) > priority - 1


@pytest.fixture(scope="module")
def places_script() -> str:
    """The real fragments: places of a time given one after the other, and of a priority."""
    text = "\n".join(source(f"shared/{name}.lua") for name in ("slot", "timed_places", "priority_places"))
    return (
        text
        + """
local found = {}
for i = 1, tonumber(ARGV[2]) do
  local score = timed_place(tonumber(ARGV[1]))
  redis.call('ZADD', STORE, score, 'm' .. i)
  found[i] = redis.call('ZSCORE', STORE, 'm' .. i)
end
local given = priority_place(tonumber(ARGV[3]), tonumber(ARGV[4]))
redis.call('ZADD', RETRY, given, 'p')
found[#found + 1] = redis.call('ZSCORE', RETRY, 'p')
found[#found + 1] = ms_text(priority_of(redis.call('ZSCORE', RETRY, 'p')))
redis.call('DEL', STORE, RETRY, SPILL)
return found
"""
    )


@given(
    st.integers(2**30, LATEST_MS) | st.sampled_from(BORDERS_MS) | st.integers(START_MS, START_MS + 10**12),
    st.integers(1, 40),
    st.integers(scores.PRIORITY_MIN, scores.PRIORITY_MAX) | st.sampled_from([17, 2**20]),
    st.integers(0, 2**32 - 1) | st.integers(2**32, 2**40),
)
def test_lua_gives_the_places_that_python_reads(
    redis_server: EmbeddedRedis, places_script: str, due_ms: int, n: int, priority: int, number: int
) -> None:
    with redis_server.client() as client:
        *timed, given_score, back = client.eval(places_script, len(KEYS), *KEYS, due_ms, n, priority, number)
    assert [scores.exact(each) for each in timed] == [scores.timed_score(due_ms, place) for place in range(n)]
    assert scores.exact(given_score) == scores.priority_score(priority, number)
    assert int(back) == priority


# -- retries


@given(st.integers(scores.PRIORITY_MIN, scores.SCORE_MAX), max_retries)
def test_a_time_or_a_priority_is_never_taken_for_retries(score: int, most: int) -> None:
    assert not scores.is_retried(score)
    assert scores.failures_of(score, most) == 0


@pytest.fixture(scope="module")
def policy_script() -> str:
    """The real fragments, with a question appended."""
    text = "\n".join(source(f"shared/{name}.lua") for name in ("slot", "journal", "policy"))
    return text + "\nreturn {retries_left(tonumber(ARGV[POLICY + 1])), failures_of(tonumber(ARGV[POLICY + 2]))}"


@given(st.data())
def test_lua_counts_retries_as_python_does(
    redis_server: EmbeddedRedis, policy_script: str, data: st.DataObject
) -> None:
    most = data.draw(max_retries)
    failures = data.draw(st.integers(1, max(most, 1)))
    score = data.draw(st.integers(1, 20) | st.integers(1, scores.SCORE_MAX))
    with redis_server.client() as client:
        args = policy(Topic("t", TopicKind.PRIORITY, max_retries=most))
        left, counted = client.eval(policy_script, len(KEYS), *KEYS, *args, failures, score)
    assert left == (scores.retries_left(failures, most) or 1)
    assert counted == scores.failures_of(score, most)


@given(st.integers(1, 16), st.integers(0, 86_400_000), st.integers(0, 86_400_000))
def test_lua_backs_off_as_python_does(
    clock: ClockedRedis, namespace: str, failures: int, backoff_ms: int, most_ms: int
) -> None:
    topic = Topic("t", TopicKind.PRIORITY, slots=1, backoff_ms=min(backoff_ms, most_ms), backoff_max_ms=most_ms)
    keyspace = Keyspace(namespace)
    keys = keyspace.slot("t", 0)
    receipt = scores.stamp(START_MS - 5, failures - 1)
    clock.zadd(keys.prepare, {"a": receipt})
    nack = Nack(b"a", receipt, -1, failure_fragment("E", "", ""))
    assert clock.execute_command(*settle("nack", keyspace, topic, 0, [nack]).by_text()) == [1]
    waits_ms = scores.backoff(failures, topic.backoff_ms, topic.backoff_max_ms)
    if waits_ms:
        assert clock.zscore(keys.retry, "a") == scores.stamp(START_MS + waits_ms, failures)
    else:
        assert clock.zscore(keys.store, "a") == scores.retries_left(failures, topic.max_retries)
    clock.delete(*keys.all())


LATENESSES = sorted(
    {*range(300), *(2**k + d for k in range(1, 40) for d in (-2, -1, 0, 1))} | {round(2 ** (q / 4)) for q in range(160)}
)


def test_lua_and_python_count_the_same_lateness_in_the_same_bucket(clock: ClockedRedis, namespace: str) -> None:

    topic = Topic("t", TopicKind.FIXED_TIME, slots=1)
    keyspace = Keyspace(namespace)
    keys = keyspace.slot("t", 0)
    latenesses = [late for late in LATENESSES if late < START_MS - 1_000]
    assert len(latenesses) > 400
    clock.zadd(keys.store, {str(late): START_MS - late for late in latenesses})
    clock.execute_command(*cycle(keyspace, topic, 0, 1000).by_text())
    counted = {int(bucket): int(n) for bucket, n in clock.hgetall(keys.lateness).items()}
    clock.delete(*keys.all())
    assert counted == dict(Histogram.of(latenesses).buckets)


@given(st.lists(st.integers(0, 10**9), min_size=1), st.integers(1, 100))
def test_a_percentile_is_within_a_quarter_octave(values: list[int], percent: int) -> None:
    histogram = Histogram.of(values)
    ranked = sorted(values)
    rank = -(-len(ranked) * percent // 100)
    true = ranked[rank - 1]
    shown = histogram.percentile(percent)
    assert shown is not None
    assert true <= shown + 1e-6
    assert shown + 1 <= (true + 1) * 2**0.25 * (1 + 1e-9)


@given(st.lists(st.integers(0, 10**6)), st.lists(st.integers(0, 10**6)))
def test_histograms_add_up_and_subtract(earlier: list[int], since: list[int]) -> None:
    before, later = Histogram.of(earlier), Histogram.of(earlier + since)
    assert later.total == len(earlier) + len(since)
    assert later.minus(before) == Histogram.of(since)
    assert Histogram.sum([before, Histogram.of(since)]) == later
    assert Histogram().percentile(50) is None
    if since:
        assert before.minus(later) == before  # counters that went back start again
