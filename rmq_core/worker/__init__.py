"""Runs listeners: takes from slots, hands messages over, settles what became of them."""

from rmq_core.worker.listeners import Listener, find_listeners, listener
from rmq_core.worker.worker import Worker

__all__ = ["Listener", "Worker", "find_listeners", "listener"]
