"""What runs in processes of their own: found there by the name of this module."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
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


class NotYet(Retry):
    """As applications have them: what it takes is not what its class takes, so it cannot be unpickled."""

    def __init__(self, order: int, delay_ms: int) -> None:
        super().__init__(f"order {order}", delay_ms=delay_ms)


class Never(Reject):
    def __init__(self, order: int, why: str) -> None:
        super().__init__(f"{order}: {why}")


class Full(Release):
    def __init__(self, order: int, delay_ms: int) -> None:
        super().__init__(delay_ms=delay_ms)


def decide(delivery: Delivery) -> None:
    """Raises an outcome of its own class."""

    class Local(Never):
        lock = None

    local = Local(3, "no")
    local.lock = threading.Lock()  # type: ignore[assignment]
    outcomes = {"retry": NotYet(1, 60_000), "reject": Never(1, "no"), "release": Full(1, 60_000), "local": local}
    raise outcomes[delivery.text]


def fork(delivery: Delivery) -> None:
    """Forks for the content "fork …", and both come back; fails for others."""
    word, _, path = delivery.text.partition(" ")
    if word != "fork":
        raise ValueError("no")
    if os.fork() == 0:
        Path(path).write_text(str(os.getpid()))
        logging.getLogger("app").warning("x" * 100_000)
    else:
        time.sleep(0.3)


def log_oddly(delivery: Delivery) -> None:
    logging.getLogger("app").warning("about", extra={"error": Odd("this", "that"), "lock": threading.Lock()})


def stop(delivery: Delivery) -> None:
    """Is stopped after the first call, in the middle of the second's log."""
    word, _, path = delivery.text.partition(" ")
    if word == "pid":
        Path(path).write_text(str(os.getpid()))
    elif word == "log":
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGSTOP)).start()
        while True:
            logging.getLogger("app").debug("x" * 1_000_000)


def terminate(delivery: Delivery) -> None:
    """Starts a program, and ends it as one does."""
    with subprocess.Popen(["sleep", "60"]) as program:
        time.sleep(0.1)
        program.terminate()
        assert program.wait(60) == -signal.SIGTERM


def tell(delivery: Delivery) -> dict[str, str]:
    """Tells of itself from there."""
    delivery.log("in a process")
    return {"by": "a process"}
