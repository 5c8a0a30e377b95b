"""From look to look: what fires, what does not, what is over; one alert for one cause; once, whoever looks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from console.alerts import looking
from console.alerts.conditions import FOLD_MOST, Seen
from console.alerts.defaults import DEFAULTS
from console.models import Alert, AlertDelivery, AlertLook, AlertReceiver, AlertRule, AlertSilence
from console.usecases import alerts
from console.usecases.actor import Actor
from tests.console.alerts.looks import SECOND, START_MS, Looks, rule, states

pytestmark = pytest.mark.django_db


@pytest.fixture
def looks() -> Looks:
    AlertLook.objects.create(pk=1, at_ms=0, defaults_made=True)
    return Looks()


def deliveries() -> list[tuple[str, str]]:
    return [(each.receiver.name, each.what) for each in AlertDelivery.objects.order_by("id")]


def test_it_fires_after_its_time_and_ends_after_looks_in_a_row(looks: Looks) -> None:
    rule()
    looks.lag(5_000)
    assert states() == [("orders", "pending")]
    looks.lag(5_000)
    assert states() == [("orders", "pending")]  # twice, but not for ten seconds
    looks.lag(5_000)
    assert states() == [("orders", "firing")]
    looks.lag(0, times=2)
    looks.lag(5_000)
    looks.lag(0, times=2)
    assert states() == [("orders", "firing")]
    looks.lag(0)
    (alert,) = Alert.objects.all()
    assert alert.state == "resolved" and alert.open_key is None
    assert (alert.began_ms - START_MS, alert.fired_ms - START_MS) == (5 * SECOND, 15 * SECOND)


def test_one_good_look_ends_what_is_pending(looks: Looks) -> None:
    rule()
    looks.lag(5_000, times=2)
    looks.lag(0)
    assert states() == []
    looks.lag(5_000, times=2)
    assert states() == [("orders", "pending")]


def test_unknown_is_not_0(looks: Looks) -> None:
    rule(comparison="below", threshold=10)
    looks.lag(None, times=5)
    assert states() == []
    looks.lag(1, times=3)
    assert states() == [("orders", "firing")]
    looks.lag(None, times=20)
    looks.see({}, topics=frozenset({"orders"}), times=20)  # it is there, and cannot be read
    assert states() == [("orders", "firing")]
    looks.see({}, times=3)  # it was deleted
    assert states() == [("orders", "resolved")]


def test_topics_by_pattern_and_below(looks: Looks) -> None:
    rule(topics="order*, mail", comparison="below", for_ms=0, fire_after=1)
    low = {"lag_ms": 1}
    looks.see({"orders": low, "mail": low, "other": low, "orders2": {"lag_ms": 1_000}})
    assert sorted(states()) == [("mail", "firing"), ("orders", "firing")]


def test_no_worker_at_all_is_one_alert_and_its_effects_are_none(looks: Looks) -> None:
    AlertRule.objects.all().delete()
    AlertRule.objects.create(name="nobody", problem="no_workers", for_ms=0, fire_after=1, resolve_after=1)
    AlertRule.objects.create(name="late", metric="lag_ms", threshold=1, for_ms=0, fire_after=1)
    names = [f"t{number}" for number in range(3)]
    numbers = {name: {"lag_ms": 99} for name in names}
    problems = {("no_workers", name): {"ready": 4} for name in names}
    looks.see(numbers, problems, workers=0)
    (alert,) = Alert.objects.all()
    assert (alert.name, alert.topic, alert.topics, alert.value) == ("nobody", "", names, 4.0)
    looks.see(numbers, {("no_workers", "t1"): {"ready": 4}})  # workers come, one topic has none: still the same
    assert [(each.name, each.topics) for each in Alert.objects.filter(open_key__isnull=False, name="nobody")] == [
        ("nobody", ["t1"])
    ]
    assert sorted(Alert.objects.filter(name="late").values_list("topic", flat=True)) == ["t0", "t2"]
    looks.see(numbers)
    assert Alert.objects.get(name="nobody").state == "resolved"


@pytest.mark.parametrize(("topics", "expected"), [(FOLD_MOST, FOLD_MOST), (FOLD_MOST + 1, 1)])
def test_many_topics_at_once_are_one_alert(looks: Looks, topics: int, expected: int) -> None:
    rule(for_ms=0, fire_after=1, resolve_after=1)
    looks.see({f"t{number}": {"lag_ms": 5_000} for number in range(topics)})
    assert Alert.objects.filter(state="firing").count() == expected
    looks.see({f"t{number}": {"lag_ms": 0} for number in range(topics)})
    assert set(Alert.objects.values_list("state", flat=True)) == {"resolved"}


@pytest.mark.parametrize("steady", [1, FOLD_MOST])
def test_what_is_one_alert_now_and_several_then_fires_all_the_same(looks: Looks, steady: int) -> None:
    """Each second look some more topics are wrong, beside those that are wrong all the time."""
    rule(for_ms=30 * SECOND, fire_after=3)
    for number in range(7):
        flapping = 5_000 if number % 2 else 0
        lags = [5_000] * steady + [flapping] * (FOLD_MOST + 1)
        looks.see({f"t{number:02}": {"lag_ms": lag} for number, lag in enumerate(lags)})
    fired = Alert.objects.filter(state="firing")
    assert sorted(fired.values_list("topic", flat=True)) == [f"t{number:02}" for number in range(steady)]
    assert {each.fired_ms - each.began_ms for each in fired} == {30 * SECOND}


def test_those_of_one_alert_for_many_have_none_of_their_own(looks: Looks) -> None:
    rule(for_ms=10 * SECOND, fire_after=2)
    numbers = {f"t{number}": {"lag_ms": 5_000} for number in range(FOLD_MOST + 2)}
    looks.see(numbers, times=3)
    (alert,) = Alert.objects.all()
    assert (alert.topic, alert.state, len(alert.topics)) == ("", "firing", FOLD_MOST + 2)


def test_nothing_is_forgotten_by_a_clock_that_nobody_believes(looks: Looks) -> None:
    rule(for_ms=0, fire_after=1, resolve_after=1)
    looks.lag(5_000)
    looks.lag(0)
    looking.forget(None)
    assert states() == [("orders", "resolved")]
    looking.forget(looks.at_ms + looking.KEEP_MS + 1)
    assert states() == []


def test_problems_of_the_installation(looks: Looks) -> None:
    rule(metric="", threshold=None, problem="memory", for_ms=0, fire_after=1, resolve_after=1)
    looks.see({"orders": {}}, {("memory", ""): {"share": 97}})
    assert states() == [("", "firing")]
    looks.see({"orders": {}})
    assert states() == [("", "resolved")]


def test_each_sample_counts_once_whoever_takes_it(looks: Looks) -> None:
    rule(for_ms=0, fire_after=2)
    seen = Seen(START_MS, {"orders": {"lag_ms": 5_000}}, frozenset({"orders"}))
    assert looking.look(seen)
    assert not looking.look(seen)  # another keeper, of the same moment
    assert not looking.look(Seen(START_MS - 1_000, seen.numbers, seen.topics))  # and one that slept
    assert states() == [("orders", "pending")]
    assert looking.look(Seen(START_MS - 3_600_000, seen.numbers, seen.topics))  # the clock was set back
    assert states() == [("orders", "firing")]


def test_told_once_and_over_only_to_those_who_were_told(looks: Looks) -> None:
    AlertReceiver.objects.create(name="a", address="https://a")
    AlertReceiver.objects.create(name="critical", address="https://b", least="critical")
    AlertReceiver.objects.create(name="short", address="https://c", resolved=False)
    AlertReceiver.objects.create(name="off", address="https://d", enabled=False)
    rule(for_ms=0, fire_after=1, resolve_after=1)
    looks.lag(5_000, times=3)
    assert sorted(deliveries()) == [("a", "firing"), ("short", "firing")]
    looks.lag(0, times=3)
    assert sorted(deliveries()) == [("a", "firing"), ("a", "resolved"), ("short", "firing")]


def test_a_silence_holds_back_and_then_tells_what_still_fires(looks: Looks) -> None:
    AlertReceiver.objects.create(name="a", address="https://a")
    rule(for_ms=0, fire_after=1, resolve_after=1)
    silence = AlertSilence.objects.create(
        rule="lag", topics="ord*", from_ms=START_MS, until_ms=START_MS + 21 * SECOND, reason="x", username="y"
    )
    looks.see({"orders": {"lag_ms": 5_000}, "mail": {"lag_ms": 5_000}}, times=3)
    assert sorted(Alert.objects.values_list("topic", "told")) == [("mail", True), ("orders", False)]
    looks.see({"orders": {"lag_ms": 5_000}, "mail": {"lag_ms": 5_000}}, times=2)
    assert sorted(Alert.objects.values_list("topic", "told")) == [("mail", True), ("orders", True)]
    silence.until_ms += 3_600_000
    silence.save()
    looks.see({"orders": {"lag_ms": 0}, "mail": {"lag_ms": 5_000}})
    looks.see({"orders": {"lag_ms": 5_000}, "mail": {"lag_ms": 5_000}})
    looks.see({"orders": {"lag_ms": 0}, "mail": {"lag_ms": 5_000}})  # came and went in silence
    assert len(deliveries()) == 3


def test_a_silence_goes_with_the_name_of_its_rule(looks: Looks, person: Callable[..., User]) -> None:
    AlertReceiver.objects.create(name="a", address="https://a")
    made = rule(for_ms=0, fire_after=1)
    AlertSilence.objects.create(
        rule="lag", topics="orders", from_ms=START_MS, until_ms=START_MS + 3_600 * SECOND, reason="x", username="y"
    )
    looks.lag(5_000)
    for name in ("slow", "late"):
        made.name = name
        alerts.put_rule(Actor(person("Admin", name)), made)
        looks.lag(5_000)
        assert states()[-1] == ("orders", "firing") and deliveries() == []
        looks.lag(0, times=5)
    looks.lag(5_000)
    assert Alert.objects.filter(name="late", state="firing").exists() and deliveries() == []


def test_one_alert_for_many_is_silenced_where_all_of_them_are(looks: Looks) -> None:
    alert = Alert(name="lag", topic="", topics=["orders", "mail"])
    half, both = AlertSilence(rule="", topics="orders"), AlertSilence(rule="lag", topics="orders, m*")
    assert not looking.is_silenced(alert, [half]) and looking.is_silenced(alert, [both])
    assert not looking.is_silenced(Alert(name="lag", topic="other"), [both])


def test_without_its_rule_it_is_over(looks: Looks) -> None:
    made = rule(for_ms=0, fire_after=1)
    looks.lag(5_000)
    made.delete()
    looks.lag(5_000)
    assert states() == [("orders", "resolved")]


def test_the_default_rules_are_made_once() -> None:
    AlertRule.objects.all().delete()
    AlertLook.objects.all().delete()
    Looks().see({"orders": {"lag_ms": 0}})
    assert {*AlertRule.objects.values_list("name", flat=True)} == {name for name, *_ in DEFAULTS}
    AlertRule.objects.all().delete()
    assert looking.look(Seen(START_MS + 10**7, {}, frozenset()))
    assert not AlertRule.objects.exists()
