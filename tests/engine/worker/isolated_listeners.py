"""What runs in processes of their own: found there by the name of this module."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import time
from pathlib import Path

from rmq_core import Delivery, Reject, Release, Retry


class Odd(Exception):
    """One that cannot be unpickled."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


def act(delivery: Delivery) -> None:
    """Does what the content says."""
    word, _, rest = delivery.text.partition(" ")
    logging.getLogger("app").warning("%s in %d", word, os.getpid())
    if word == "hang":
        time.sleep(600)
    elif word == "spin":
        if rest:
            Path(rest).write_text(str(os.getpid()))
        ctypes.PyDLL(None).sleep(600)  # with the interpreter's lock held: no thread of the process runs
    elif word == "exit":
        os._exit(3)
    elif word == "fail":
        raise ValueError("no")
    elif word == "odd":
        raise Odd("this", "that")
    elif word == "leave":
        sys.exit("enough")
    elif word == "reject":
        raise Reject("never")
    elif word == "retry":
        raise Retry("later", delay_ms=60_000)
    elif word == "release":
        raise Release("busy", delay_ms=60_000)
    elif word == "lazy":
        return (each for each in ())  # type: ignore[return-value]
    elif word == "write":
        Path(rest).write_text(str(os.getpid()))
        time.sleep(600)


def act_on_many(deliveries: list[Delivery]) -> None:
    for delivery in deliveries:
        act(delivery)


def set_up() -> None:
    os.environ["SET_UP"] = "yes"


def needs_setup(delivery: Delivery) -> None:
    assert os.environ["SET_UP"] == "yes"


def keep_to_one(delivery: Delivery) -> None:
    assert delivery.group == "one"


def keep_to_two(delivery: Delivery) -> None:
    assert delivery.group == "two"


def tell(delivery: Delivery) -> dict[str, str]:
    """Tells of itself from there."""
    delivery.log("in a process")
    return {"by": "a process"}
