"""A module with one listener, for command lines."""

from __future__ import annotations

from rmq_core import Delivery, listener


@listener("t")
def handle(_: Delivery) -> None:
    """Does nothing."""
