"""What of a sample is wrong by a rule: of each topic whether, and how much. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from console.access import EVERY_TOPIC, split_patterns
from console.models import AlertRule

ALL = ""
"""In the place of a topic: the whole installation."""
FOLD_MOST = 8
"""When more topics than these are wrong by one rule at once, that is one alert."""
CAUSE = "no_workers"
EFFECTS = frozenset({"lagging", "falling_behind", "group_stuck", "group_behind", "lag_ms", "backlog", "ready"})
"""What follows where nobody works; the cause is told of, not these."""
OUTSIDE = frozenset({"memory", "eviction", "outbox_away", "outbox_lagging", "outbox_parked", "recurring_failing"})
"""What is not found out of the queues' data."""


@dataclass(frozen=True)
class Seen:
    """A sample, as rules ask for it. `numbers`: of each topic that could be read; `topics`: of all that there are.

    `problems`: (code, topic) → its values. `workers`: how many are running. `lost`: the server holds other data than
    when the alerts began, so what is right now may be right for that alone.
    """

    at_ms: int
    numbers: Mapping[str, Mapping[str, float | int | None]]
    topics: frozenset[str]
    problems: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    workers: int = 0
    lost: bool = False

    def tells(self, rule: AlertRule, verdict: Verdict) -> bool:
        """Whether a verdict can be believed."""
        return bool(verdict.wrong) or not self.lost or rule.problem in OUTSIDE


@dataclass(frozen=True)
class Verdict:
    """Of one place: whether it is wrong; None: that is not known. `topics`: of one alert for many. `folded`: that one
    tells of it, as soon as it fires; until then it goes on for itself, for there may be less again."""

    wrong: bool | None
    value: float | None = None
    topics: tuple[str, ...] = ()
    folded: bool = False


def verdicts(rule: AlertRule, seen: Seen, firing: frozenset[str], causes: frozenset[str]) -> dict[str, Verdict]:
    """By topic, `ALL` for one alert for many. `firing`: places that have an alert of this rule which fires;
    `causes`: topics where nobody works, which another rule tells."""
    found = _each(rule, seen)
    if (rule.problem or rule.metric) in EFFECTS:
        found = {topic: Verdict(None) if each.wrong and topic in causes else each for topic, each in found.items()}
    if rule.problem and ALL in found:  # a problem of the installation is not of topics
        return found
    return _folded(rule, found, seen, firing)


def _each(rule: AlertRule, seen: Seen) -> dict[str, Verdict]:
    matching = covered(rule.topics, seen.topics)
    if rule.metric:
        return {name: _compared(rule, seen.numbers.get(name)) for name in matching}
    known = {name: Verdict(False if name in seen.numbers else None) for name in matching}
    for (code, topic), values in seen.problems.items():
        if code == rule.problem and (topic in known or (topic == ALL and covers_all(rule.topics))):
            known[topic] = Verdict(True, _number(values))
    return known


def _compared(rule: AlertRule, numbers: Mapping[str, float | int | None] | None) -> Verdict:
    value = None if numbers is None else numbers.get(rule.metric)
    # Unknown is not 0. But of what is in flight, nothing is the answer.
    if value is None and numbers is not None and rule.metric == "oldest_ms":
        value = 0
    if value is None or rule.threshold is None:
        return Verdict(None)
    wrong = value > rule.threshold if rule.comparison == AlertRule.Comparison.ABOVE else value < rule.threshold
    return Verdict(wrong, float(value))


def _folded(rule: AlertRule, found: dict[str, Verdict], seen: Seen, firing: frozenset[str]) -> dict[str, Verdict]:
    rest = sorted(name for name, each in found.items() if each.wrong and name not in firing)
    most = 0 if rule.problem == CAUSE and not seen.workers else FOLD_MOST
    if len(rest) <= most and ALL not in firing:
        return found
    kept = {name: each for name, each in found.items() if name not in rest}
    if rest:
        values = [each.value for name in rest if (each := found[name]).value is not None]
        kept |= {name: replace(found[name], folded=True) for name in rest}
        return kept | {ALL: Verdict(True, max(values, default=None), tuple(rest))}
    unknown = any(each.wrong is None for each in found.values())
    return kept | {ALL: Verdict(None if unknown else False)}


def _number(values: Mapping[str, Any]) -> float | None:
    """The first number of what a problem says."""
    return next((float(each) for each in values.values() if isinstance(each, int | float)), None)


def covered(patterns: str, names: Iterable[str]) -> list[str]:
    """Those of topics that patterns are for."""
    wanted = split_patterns(patterns)
    if EVERY_TOPIC in wanted:
        return list(names)
    return [name for name in names if any(fnmatchcase(name, each) for each in wanted)]


def covers_all(patterns: str) -> bool:
    return EVERY_TOPIC in split_patterns(patterns)
