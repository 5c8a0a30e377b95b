"""The journal: what every script call changed, in order, per slot. See ``docs/explanation/journal.md``."""

from rmq_core.journal.entries import Transition, decode
from rmq_core.journal.reader import Gap, Position, Read

__all__ = ["Gap", "Position", "Read", "Transition", "decode"]
