"""Errors on their way from a listener's process to its worker: the same class, words and attributes there.

Many cannot be pickled, mostly because their ``__init__`` takes something else than their words. They are made without
it; of a class that the worker cannot import the nearest one above it is made, so that a `Retry` stays one.
"""

from __future__ import annotations

import pickle
import traceback
from typing import Any, NamedTuple, cast

from rmq_core.model.outcomes import words_of


class PortableError(NamedTuple):
    """``whole``: its pickle, b"" if it has none; the rest is for where that cannot be loaded. ``classes``: its own and
    those above it, pickled."""

    whole: bytes
    classes: list[bytes]
    args: tuple[bytes, ...]
    attributes: dict[str, bytes]
    name: str
    words: str
    trace: str


def portable(error: BaseException) -> PortableError:
    """What `made` makes it of again."""
    return PortableError(
        _pickled(error),
        [pickled for each in type(error).__mro__ if (pickled := _pickled(each))],
        tuple(_pickled(each) for each in error.args),
        {name: pickled for name, value in vars(error).items() if (pickled := _pickled(value))},
        type(error).__name__,
        words_of(error),
        "".join(traceback.format_exception(error)),
    )


def made(said: PortableError) -> BaseException:
    """The error that a process sent; in the worst case one of the same name and words."""
    whole = _loaded(said.whole)
    error: BaseException = whole if isinstance(whole, BaseException) else _made_without_init(said)
    error.__cause__ = ChildTraceback(said.trace)
    return error


def _made_without_init(said: PortableError) -> BaseException:
    args = [_loaded(each) for each in said.args] if all(said.args) else [said.words]
    for each in map(_loaded, said.classes):
        if isinstance(each, type) and issubclass(each, BaseException):
            # The name is what people look for, also where its class is known to the listener's process alone.
            same = each if each.__name__ == said.name else type(said.name, (each,), {"__module__": each.__module__})
            try:
                error = cast(BaseException, each.__new__(same, *args))
                vars(error).update({name: _loaded(value) for name, value in said.attributes.items()})
            except Exception:
                continue
            return error
    return cast(BaseException, type(said.name, (Exception,), {})(said.words))


class ChildTraceback(Exception):
    """Where an error was raised in the other process: the cause of it here."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def _pickled(value: Any) -> bytes:
    """b"" of what cannot be pickled, or not be loaded again."""
    try:
        pickled = pickle.dumps(value)
        pickle.loads(pickled)
    except Exception:
        return b""
    return pickled


def _loaded(pickled: bytes) -> Any:
    try:
        return pickle.loads(pickled) if pickled else None
    except Exception:
        return None
