"""Names of Channels groups."""

from hashlib import blake2b

OVERVIEW = "overview"
FLEET_GROUP = "fleet"


def topic_group(topic: str) -> str:
    """Topic names may be longer than group names."""
    return f"topic-{blake2b(topic.encode(), digest_size=12).hexdigest()}"


FLEET = "!fleet"
"""Stands for the Workers page among the watched topics; no topic can be called that."""
