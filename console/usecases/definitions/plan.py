"""What a change of a definition would do to the messages that are there now, said before it is saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext

from console.engine import engine, sample_of
from console.serializers.topics import definition_json
from console.usecases.definitions.fields import difference
from console.usecases.definitions.plan_line import Count, Line, Severity
from console.usecases.definitions.plan_lines import LINES
from console.usecases.groups import SETTINGS, own_settings
from rmq_core.errors import TopicConflict
from rmq_core.figures import number
from rmq_core.model.topic import Topic

GROUPS_PLANNED = 20
"""Of so many consumer groups a plan counts what a change reaches; others are named."""


@dataclass(frozen=True)
class Plan:
    """What would change, and what that does. `at_ms`: when the messages were counted, by the Redis clock; None for a
    topic that is not there yet."""

    lines: tuple[Line, ...]
    difference: tuple[dict[str, Any], ...]
    at_ms: int | None

    @property
    def severity(self) -> Severity:
        """The worst of the lines."""
        found = {line.severity for line in self.lines}
        return "danger" if "danger" in found else "caution" if "caution" in found else "info"

    def as_json(self) -> dict[str, Any]:
        return {
            "lines": [line.as_json() for line in self.lines],
            "difference": list(self.difference),
            "severity": self.severity,
            "at_ms": self.at_ms,
        }


def change_plan(now: Topic | None, wanted: Topic) -> Plan:
    """What saving `wanted` over `now` (None: creating it) would do. Raises `TopicConflict` for another shape."""
    if now is None:
        return Plan(tuple(_creation(wanted)), (), None)
    if (now.name, now.kind, now.slots) != (wanted.name, wanted.kind, wanted.slots):
        raise TopicConflict(gettext("Name, kind and slots of a topic cannot be changed; create another topic."))
    changed = difference(definition_json(now), definition_json(wanted))
    sample = sample_of(now.name)
    fields = [each["field"] for each in changed]
    of_groups = [field for field in fields if now.is_stream and field in SETTINGS]
    lines = [line for field in fields if field not in of_groups for line in LINES[field](now, wanted, sample)]
    lines += _of_groups(now, wanted, of_groups)
    return Plan(tuple(lines), tuple(changed), sample.at_ms)


def _of_groups(stream: Topic, wanted: Topic, fields: Sequence[str]) -> list[Line]:
    """Which consumer groups take changed settings over and what that does there, and which keep their own."""
    groups = engine().inspector.groups(stream) if fields else []
    own = {group.name: own_settings(group) for group in groups}
    lines = []
    for field in fields:
        takes = [group for group in groups if field not in own[group.name]]
        keeps = ", ".join(group.group for group in groups if field in own[group.name])
        if not takes:
            lines.append(Line(field, "info", gettext("No consumer group takes it over; those that are made will.")))
        for group in takes[:GROUPS_PLANNED]:
            changed = replace(group, **{each: getattr(wanted, each) for each in fields if each not in own[group.name]})
            for sample in engine().inspector.sample([group.name]):  # none where it was deleted this moment
                found = LINES[field](group, changed, sample)
                lines += [replace(line, text=f"{group.group}: {line.text}") for line in found]
        if more := takes[GROUPS_PLANNED:]:
            names = ", ".join(group.group for group in more)
            lines.append(Line(field, "info", gettext("Taken over also by: %(groups)s.") % {"groups": names}))
        if keeps:
            text = gettext("Consumer groups with a setting of their own keep that: %(groups)s.")
            lines.append(Line(field, "info", text % {"groups": keeps}))
    return lines


def deletion_plan(topic: Topic) -> Plan:
    """What deleting a topic would take with it."""
    if topic.is_stream:
        return _stream_deletion(topic)
    if topic.is_group:
        return _group_deletion(topic)
    sample = sample_of(topic.name)
    held = Count(sample.backlog + sample.prepare + sample.dead)
    if held.number:
        text = gettext(
            "All its messages are deleted with it and cannot be restored (%(count)s): %(backlog)s waiting,"
            " %(flight)s in flight, %(dead)s dead."
        ) % {
            "count": held,
            "backlog": number(sample.backlog),
            "flight": number(sample.prepare),
            "dead": number(sample.dead),
        }
        lines = [Line("", "danger", text, held)]
    else:
        lines = [Line("", "info", gettext("It holds no messages."), held)]
    lines.append(
        Line("", "caution", gettext("Sending to it fails from then on, until an application defines it again."))
    )
    return Plan(tuple(lines), (), sample.at_ms)


def _stream_deletion(topic: Topic) -> Plan:
    """What goes with a stream: its entries, and its groups with what they have not finished."""
    groups = [group.name for group in engine().inspector.groups(topic)]
    sample, of_groups = sample_of(topic.name), engine().inspector.sample(groups)
    held = Count(sample.length)
    text = gettext("All its entries are deleted with it and cannot be restored: %(count)s.")
    lines = [
        Line("", "danger", text % {"count": held}, held)
        if held.number
        else Line("", "info", gettext("It holds no entries."), held)
    ]
    if of_groups:
        open_ = Count(sum((each.lag or 0) + each.backlog + each.prepare for each in of_groups))
        dead = sum(each.dead for each in of_groups)
        text = gettext(
            "Its consumer groups go with it: %(groups)s. Not finished by them: %(count)s; dead letters: %(dead)s."
        )
        names = ", ".join(name.partition("@")[2] for name in groups)
        values = {"groups": names, "count": open_, "dead": number(dead)}
        lines.append(Line("", "danger" if open_.number or dead else "caution", text % values, open_))
    lines.append(
        Line("", "caution", gettext("Sending to it fails from then on, until an application defines it again."))
    )
    return Plan(tuple(lines), (), sample.at_ms)


def _group_deletion(group: Topic) -> Plan:
    """What a group forgets; the entries stay in the stream, for the others."""
    sample = sample_of(group.name)
    held = Count(sample.backlog + sample.prepare + sample.dead)
    values = {
        "count": held,
        "flight": number(sample.prepare),
        "retrying": number(sample.retrying),
        "dead": number(sample.dead),
    }
    text = gettext(
        "What it has read and not finished is forgotten (%(count)s): %(flight)s in flight, %(retrying)s to be tried"
        " again, %(dead)s dead letters with their causes."
    )
    lines = [
        Line("", "danger", text % values, held)
        if held.number
        else Line("", "info", gettext("Nothing of it is pending, and it has no dead letters."), held)
    ]
    lag = gettext("unknown") if sample.lag is None else number(sample.lag)
    lines.append(
        Line(
            "",
            "caution" if sample.lag else "info",
            gettext("Its position goes with it; entries that it has not read: %(lag)s. The entries stay in the stream.")
            % {"lag": lag},
        )
    )
    return Plan(tuple(lines), (), sample.at_ms)


def _creation(wanted: Topic) -> list[Line]:
    lines = [
        Line("", "info", gettext("The topic is created, empty. Clients that declare it take over these settings.")),
        Line("kind", "info", gettext("Its kind and its slots can never be changed.")),
    ]
    if wanted.paused:
        lines.append(Line("paused", "caution", gettext("It begins paused: nothing is taken until it is resumed.")))
    return lines
