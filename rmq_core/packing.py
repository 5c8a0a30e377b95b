"""How commands become bytes: with their numbers written out first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hiredis import pack_command
from redis.exceptions import DataError


def spelled(command: Iterable[Any]) -> tuple[Any, ...]:
    """A command with its numbers written out.

    hiredis asks Python for a number's text, and does not see when a signal handler raises meanwhile: a Ctrl-C there
    would end the process with a segmentation fault, and take unsent messages with it.
    """
    return tuple([repr(each) if type(each) in _NUMBERS else each for each in command])


_NUMBERS = frozenset((int, float))


class Packer:
    """Packs what redis-py itself has to say, such as the greeting of a new connection."""

    def pack(self, *args: Any) -> list[bytes]:
        """One command, whose name may be of several words."""
        name = args[0] if isinstance(args[0], bytes) else str(args[0]).encode()
        try:
            return [pack_command(spelled([*name.split(), *args[1:]]))]
        except TypeError as error:
            raise DataError(str(error)) from None


PACKER = Packer()
