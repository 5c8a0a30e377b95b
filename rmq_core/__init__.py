"""A message queue on Redis sorted sets: merged duplicates, priorities, delivery at a given time, one at a time."""

from rmq_core import errors
from rmq_core.actions import ActionResult
from rmq_core.async_client import AsyncRMQ
from rmq_core.async_producer import AsyncProducer
from rmq_core.client import RMQ
from rmq_core.control import AsyncControl, Control
from rmq_core.filters import MessageFilter
from rmq_core.inspector import AsyncInspector, Inspector
from rmq_core.message import (
    Delivery,
    FixedTimeMessage,
    MessageRef,
    PriorityMessage,
    RangeMergeMessage,
    id_from_text,
    id_to_text,
)
from rmq_core.outcomes import Reject, Release, Retry
from rmq_core.producer import Producer
from rmq_core.sending import Sent, SentMany
from rmq_core.state_machine import StateMachine, Step
from rmq_core.topic import Journal, Merge, Topic, TopicKind
from rmq_core.worker import Listener, Worker, listener

__all__ = [
    "RMQ",
    "ActionResult",
    "AsyncControl",
    "AsyncInspector",
    "AsyncProducer",
    "AsyncRMQ",
    "Control",
    "Delivery",
    "FixedTimeMessage",
    "Inspector",
    "Journal",
    "Listener",
    "Merge",
    "MessageFilter",
    "MessageRef",
    "PriorityMessage",
    "Producer",
    "RangeMergeMessage",
    "Reject",
    "Release",
    "Retry",
    "Sent",
    "SentMany",
    "StateMachine",
    "Step",
    "Topic",
    "TopicKind",
    "Worker",
    "errors",
    "id_from_text",
    "id_to_text",
    "listener",
]
