"""How commands become bytes: with their numbers written out first."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from hiredis import pack_command
from redis.exceptions import DataError

from rmq_core.protocol.scripts import Call, Often


def spelled(command: Iterable[Any]) -> tuple[Any, ...]:
    """A command with its numbers written out.

    hiredis asks Python for a number's text, and does not see when a signal handler raises meanwhile: a Ctrl-C there
    would end the process with a segmentation fault, and take unsent messages with it.
    """
    return tuple([repr(each) if type(each) in _NUMBERS else each for each in command])


_NUMBERS = frozenset((int, float))


def packed(request: Call | tuple[Any, ...]) -> bytes:
    """A command as it is sent; of a call, that which runs a script the server knows."""
    if type(request) is not Call:
        return bytes(pack_command(spelled(request)))
    script, keys, args, fixed = request
    beginning = _beginning(script.sha, tuple(keys), fixed)
    count = 3 + len(keys) + len(fixed) + len(args)
    if type(args) is not Often:
        arguments = _arguments(args if type(args) is tuple else spelled(args))
    else:
        arguments = args.packed = args.packed or _arguments(args)
    return b"*%d\r\n%b%b" % (count, beginning, arguments)


def _arguments(args: tuple[Any, ...]) -> bytes:
    """Without how many there are."""
    arguments: bytes = pack_command(args)
    return arguments[arguments.index(b"\n") + 1 :]


@lru_cache(4096)
def _beginning(sha: str, keys: tuple[str, ...], fixed: tuple[Any, ...]) -> bytes:
    """What all calls of a script for a slot have in common: packing it costs as much as all the rest of a send."""
    return _arguments(spelled(("EVALSHA", sha, len(keys), *keys, *fixed)))


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
