"""Recurring messages: when their ticks are, and how code declares them."""

from console.recurring.rule import Recurring

__all__ = ["Recurring"]
