"""Going back to shared mode: slots that workers with ZooKeeper have owned are refused to all others until then."""

from __future__ import annotations

from collections.abc import Callable

from console.engine import new_engine
from console.usecases.audit import note

ACTION = "unfence"


def share_slots(url: str, say: Callable[[str], None]) -> None:
    """Hands back the slots of every topic that had owners. Only for whoever knows that none of those works any more."""
    engine = new_engine(url)
    try:
        for sample in engine.inspector.sample():
            owned = sum(slot.epoch is not None for slot in sample.slots)
            if not owned:
                continue
            name = sample.topic.name
            engine.control.unfence(name)
            values = {"topic": name, "reason": "started with --shared", "asked": owned, "done": owned, "via": "command"}
            note(ACTION, username="manage.py up", **values)
            say(f"{name}: {owned} slots had owners when it ran with ZooKeeper; now all workers share them")
    finally:
        engine.client.close()
