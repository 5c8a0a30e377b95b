"""What the browser's modules believe of what is pushed (`typings/live.d.ts`) is what the keeper writes."""

from __future__ import annotations

import functools
import json
import re
from typing import Any

from console.engine import AsyncEngine
from console.keeper.details import Details
from console.keeper.sampler import Sampler
from console.snapshots import store
from console.snapshots.groups import FLEET
from console.snapshots.store import LiveKeys
from console.usecases.definitions.fields import FIELDS
from rmq_core import Journal, TopicKind
from tests.console.api.conftest import openapi
from tests.console.conftest import Queue
from tests.docs.blocks import ROOT

INTERFACE = re.compile(r"^  interface (\w+)(?: extends ([^{]+))? \{\n(.*?)^  \}", re.MULTILINE | re.DOTALL)
PROPERTY = re.compile(r"^    (\w+)(\??):", re.MULTILINE)


@functools.cache
def shapes() -> dict[str, dict[str, bool]]:
    """Interface → its properties, and whether they are always there."""
    found: dict[str, dict[str, bool]] = {}
    for name, bases, body in INTERFACE.findall((ROOT / "typings" / "live.d.ts").read_text()):
        found[name] = {}
        left_out = re.findall(r'"(\w+)"', bases)
        for base in re.findall(r"Api\.\w+|\b(?!Omit)[A-Z]\w+", bases):
            schema = openapi()["components"]["schemas"].get(base.removeprefix("Api."))
            theirs = dict.fromkeys(schema["properties"], True) if base.startswith("Api.") else found[base]
            found[name] |= {each: always for each, always in theirs.items() if each not in left_out}
        found[name] |= {each: not optional for each, optional in PROPERTY.findall(body)}
    return found


def fits(name: str, value: Any) -> Any:
    """Nothing is missing, and nothing is there that nobody knows of."""
    known = shapes()[name]
    assert set(value) - set(known) == set(), f"{name} of live.d.ts lacks these"
    assert {each for each, always in known.items() if always} - set(value) == set(), f"{name} has no such part"
    return value


def frame(queue: Queue, key: str) -> Any:
    found = queue.client.run(store.read_frame(key))
    assert found is not None
    return json.loads(found[1])


async def test_frames_are_as_they_are_described(queue: Queue, own: AsyncEngine, keys: LiveKeys) -> None:
    queue.topic(journal=Journal.EVENTS)
    queue.topic("events", TopicKind.STREAM)
    queue.client.define_group("events", "mail")
    queue.dead("d")
    queue.worker()
    for watched in ("orders", "events", FLEET):
        queue.client.run(store.watch(queue.client.keyspace, keys.watch, watched))
    await Sampler(own, keys, interval_ms=1000, lag_warning_ms=10_000).round()

    overview = fits("Overview", frame(queue, keys.overview))
    fits("Totals", overview["totals"])
    fits("Server", overview["server"])
    assert [fits("Problem", each)["code"] for each in overview["problems"]] == ["dead"]
    assert len([fits("TopicLine", each) for each in overview["topics"]]) == 3

    orders = fits("TopicFrame", frame(queue, keys.topic("orders")))
    fits("Topic", orders["topic"])
    fits("Numbers", orders["now"])
    (group,) = frame(queue, keys.topic("events"))["groups"]
    fits("Course", fits("Group", group)["course"])

    fleet = fits("Fleet", frame(queue, keys.fleet))
    fits("FleetWorker", fleet["workers"][0])
    fits("FleetTopic", fleet["topics"][0])

    queue.delayed("a", in_ms=0)
    assert queue.client.take("orders", timeout_ms=2_000)
    await Details(own, keys).round({"orders"})
    fits("InFlight", fits("Details", frame(queue, keys.details("orders", payload=True)))["oldest"][0])


def test_fields_of_a_definition_are_as_they_are_described() -> None:
    for field in FIELDS:
        fits("Field", field.as_json())
