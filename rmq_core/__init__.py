"""A message queue on Redis sorted sets: merged duplicates, priorities, delivery at a given time, one at a time."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmq_core import errors
    from rmq_core.client.async_control import AsyncControl
    from rmq_core.client.async_inspector import AsyncInspector
    from rmq_core.client.async_producer import AsyncProducer
    from rmq_core.client.async_rmq import AsyncRMQ
    from rmq_core.client.control import Control
    from rmq_core.client.inspector import Inspector
    from rmq_core.client.journal import AsyncJournalReader, JournalReader
    from rmq_core.client.producer import Producer
    from rmq_core.client.rmq import RMQ
    from rmq_core.errors import RMQError
    from rmq_core.hooks.hook import Handling, Hook, Sending
    from rmq_core.model.composing import SendOptions
    from rmq_core.model.delivery import Delivery
    from rmq_core.model.entry import Entry, EntryDelivery, StreamMessage
    from rmq_core.model.filters import MessageFilter
    from rmq_core.model.follow_ups import Addressed
    from rmq_core.model.group import Group
    from rmq_core.model.ids import MessageRef, id_from_text, id_to_text
    from rmq_core.model.json_text import to_json
    from rmq_core.model.message import DelayedMessage, FixedTimeMessage, Message, PriorityMessage, RangeMergeMessage
    from rmq_core.model.outcomes import Reject, Release, Retry
    from rmq_core.model.report import Report
    from rmq_core.model.route import Route, Target
    from rmq_core.model.topic import Journal, Merge, OnFailure, Topic, TopicKind, Trim
    from rmq_core.ops.actions import ActionResult
    from rmq_core.ops.matching import MatchingResult
    from rmq_core.ops.sent import Sent, SentMany
    from rmq_core.ownership.config import ZooKeeperConfig
    from rmq_core.routes.status import RouteStatus
    from rmq_core.state_machine import StateMachine, Step
    from rmq_core.streams.reading import EntryPage
    from rmq_core.worker import Listener, Worker, listener
    from rmq_core.worker.routing import Routing

    __version__: str

__all__ = [
    "RMQ",
    "ActionResult",
    "Addressed",
    "AsyncControl",
    "AsyncInspector",
    "AsyncJournalReader",
    "AsyncProducer",
    "AsyncRMQ",
    "Control",
    "DelayedMessage",
    "Delivery",
    "Entry",
    "EntryDelivery",
    "EntryPage",
    "FixedTimeMessage",
    "Group",
    "Handling",
    "Hook",
    "Inspector",
    "Journal",
    "JournalReader",
    "Listener",
    "MatchingResult",
    "Merge",
    "Message",
    "MessageFilter",
    "MessageRef",
    "OnFailure",
    "PriorityMessage",
    "Producer",
    "RMQError",
    "RangeMergeMessage",
    "Reject",
    "Release",
    "Report",
    "Retry",
    "Route",
    "RouteStatus",
    "Routing",
    "SendOptions",
    "Sending",
    "Sent",
    "SentMany",
    "StateMachine",
    "Step",
    "StreamMessage",
    "Target",
    "Topic",
    "TopicKind",
    "Trim",
    "Worker",
    "ZooKeeperConfig",
    "errors",
    "id_from_text",
    "id_to_text",
    "listener",
    "to_json",
]

# Where each public name lives: nothing is imported before it is asked for.
_HOMES = {
    "client.async_producer": ("AsyncProducer",),
    "client.async_rmq": ("AsyncRMQ",),
    "client.async_control": ("AsyncControl",),
    "client.control": ("Control",),
    "client.async_inspector": ("AsyncInspector",),
    "client.inspector": ("Inspector",),
    "client.journal": ("AsyncJournalReader", "JournalReader"),
    "client.producer": ("Producer",),
    "client.rmq": ("RMQ",),
    "errors": ("RMQError",),
    "hooks.hook": ("Handling", "Hook", "Sending"),
    "model.composing": ("SendOptions",),
    "model.delivery": ("Delivery",),
    "model.entry": ("Entry", "EntryDelivery", "StreamMessage"),
    "model.group": ("Group",),
    "model.filters": ("MessageFilter",),
    "model.follow_ups": ("Addressed",),
    "model.ids": ("MessageRef", "id_from_text", "id_to_text"),
    "model.json_text": ("to_json",),
    "model.message": ("DelayedMessage", "FixedTimeMessage", "Message", "PriorityMessage", "RangeMergeMessage"),
    "model.outcomes": ("Reject", "Release", "Retry"),
    "model.report": ("Report",),
    "model.route": ("Route", "Target"),
    "model.topic": ("Journal", "Merge", "OnFailure", "Topic", "TopicKind", "Trim"),
    "ops.actions": ("ActionResult",),
    "ops.matching": ("MatchingResult",),
    "ops.sent": ("Sent", "SentMany"),
    "ownership.config": ("ZooKeeperConfig",),
    "routes.status": ("RouteStatus",),
    "state_machine": ("StateMachine", "Step"),
    "streams.reading": ("EntryPage",),
    "worker": ("Listener", "Worker", "listener"),
    "worker.routing": ("Routing",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # else a type checker would believe in any name

    def __getattr__(name: str) -> object:
        if name in _HOME_OF:
            value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        elif name == "errors":
            return import_module(f"{__name__}.errors")
        elif name == "__version__":
            value = _version()
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value  # the next look finds it without us
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("rmq-console")
    except PackageNotFoundError:
        return "0+unknown"  # read from a folder that nobody has installed
