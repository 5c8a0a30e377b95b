"""A transactional outbox: messages written in the transaction that changes the business, and sent after its commit.

    from console import outbox

    with transaction.atomic():
        order.save()
        outbox.send("mail", {"to": order.email}, priority=900)

An app of its own (`INSTALLED_APPS += ["console.outbox"]`), which needs nothing else of the console.
See docs/how-to/outbox.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.outbox.sending import send, sends_after_commit

__all__ = ["send", "sends_after_commit"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Django imports this package before there may be models."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("console.outbox.sending"), name)
