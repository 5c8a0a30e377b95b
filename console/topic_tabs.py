"""Which tabs the page of a topic, or of a consumer group, has."""

from __future__ import annotations

from rmq_core.model.topic import Topic

TABS = ("live", "messages", "dead", "groups", "slots", "trends", "definition")


def tabs_of(topic: Topic) -> list[str]:
    """Only streams have groups; the definition of a group is that of its topic."""
    left_out = {"groups", "definition"} if topic.is_group else set() if topic.is_stream else {"groups"}
    return [name for name in TABS if name not in left_out]
