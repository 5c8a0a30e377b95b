"""A message queue on Redis sorted sets: merged duplicates, priorities, delivery at a given time, one at a time."""

from rmq_core import errors
from rmq_core.client.async_producer import AsyncProducer
from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.client.control import AsyncControl, Control
from rmq_core.client.inspector import AsyncInspector, Inspector
from rmq_core.client.producer import Producer
from rmq_core.client.rmq import RMQ
from rmq_core.model.filters import MessageFilter
from rmq_core.model.message import (
    Delivery,
    FixedTimeMessage,
    MessageRef,
    PriorityMessage,
    RangeMergeMessage,
    id_from_text,
    id_to_text,
)
from rmq_core.model.outcomes import Reject, Release, Retry
from rmq_core.model.topic import Journal, Merge, Topic, TopicKind
from rmq_core.ops.actions import ActionResult
from rmq_core.ops.sending import Sent, SentMany
from rmq_core.state_machine import StateMachine, Step
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
