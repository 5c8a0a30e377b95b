"""The outbox's connections to the queues: one for relays, which wait, and one for those who have just committed."""

from __future__ import annotations

import functools

from django.core.signals import setting_changed
from django.dispatch import receiver

from console.outbox.options import SETTING, options
from rmq_core.client.rmq import RMQ

RELAY_PATIENCE_MS = 5_000
"""Shorter than a lease: who has one must know in time that it sends nothing."""
QUICK_PATIENCE_MS = 250
"""A request does not wait for Redis: a relay does."""


@functools.cache
def patient() -> RMQ:
    """Shared by the threads of this process."""
    return _client(min(RELAY_PATIENCE_MS, options().lease_ms // 4))


@functools.cache
def quick() -> RMQ:
    """The same, for what comes right after a commit."""
    return _client(QUICK_PATIENCE_MS)


def _client(patience_ms: int) -> RMQ:
    return RMQ(options().redis_url, options().namespace, retry_for_ms=patience_ms)


@receiver(setting_changed)
def _forget(setting: str, **kwargs: object) -> None:
    """Tests point the outbox at other servers."""
    if setting in (SETTING, "RMQ_CONSOLE"):
        patient.cache_clear()
        quick.cache_clear()
