"""What every Python peer program shares: the phases, the clocks, and the no-op job's own bookkeeping.

This file runs inside the peer's virtual environment: standard library and `redis` only. The protocol is in
../README.md. A program subclasses `Program` (or `AsyncProgram`), and its worker calls `tally(payload)` as the job.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

import redis

URL = os.environ.get("BENCH_URL", "redis://127.0.0.1:6379/0")
BIN = Path(sys.executable).parent
PAYLOAD_BYTES = 32
PROBE = "probe".rjust(PAYLOAD_BYTES)
POLL_S = 0.002


def knob(name: str, value: str | int) -> str:
    """A setting of the peer's; BENCH_SET_<name> in the environment tries another value."""
    return os.environ.get(f"BENCH_SET_{name}", str(value))


class Tally:
    """The no-op job. Counts in the worker's memory, so that measuring costs a job next to nothing.

    BENCH_NOTES is the folder it reports to: `ready` once the probe ran, `done` once BENCH_COUNT jobs ran.
    """

    def __init__(self) -> None:
        self.count = int(os.environ.get("BENCH_COUNT", "0"))
        self.notes = Path(os.environ.get("BENCH_NOTES", "/nonexistent"))
        self.late = os.environ.get("BENCH_LATE") == "1"
        self.seen = itertools.count(1)
        self.first = 0.0
        self.late_ms: list[float] = []

    def __call__(self, payload: str) -> None:
        if payload == PROBE:
            self.note("ready", {})
            return
        if self.late:
            self.late_ms.append((time.time() - float(payload)) * 1000)
        number = next(self.seen)
        if number == 1:
            self.first = time.monotonic()
        if number == self.count:
            self.note("done", {"first": self.first, "last": time.monotonic(), "late_ms": self.late_ms})

    def note(self, name: str, content: dict[str, Any]) -> None:
        unfinished = self.notes / f"{name}.part"
        unfinished.write_text(json.dumps(content))
        unfinished.replace(self.notes / name)


tally = Tally()


class Program(ABC):
    """One peer with a synchronous client."""

    packages: ClassVar[tuple[str, ...]]
    settings: ClassVar[dict[str, str]]
    """What was set, per phase where it differs; goes into the results."""
    guarantee: ClassVar[str] = "at least once"
    bulk: ClassVar[str] = ""
    """Why there is no bulk send; empty if there is one."""

    def open(self) -> None:  # noqa: B027  (most peers connect when they first send)
        """Connects."""

    def close(self) -> None:  # noqa: B027
        """Disconnects."""

    @abstractmethod
    def send(self, payload: str) -> Any:
        """Sends a message due at once."""

    def send_bulk(self, payloads: list[str]) -> Any:
        """Sends many in one call; asked for only where `bulk` is empty."""
        raise NotImplementedError(f"{type(self).__name__} says that it can send in bulk, and has no way to")

    @abstractmethod
    def delay(self, payload: str, due_s: float) -> Any:
        """Sends a message due at this time (seconds since the epoch)."""

    def store_delayed(self, payload: str, due_s: float) -> Any:
        """As `delay`, but where the message will wait, for peers that sort it there only in a worker."""
        return self.delay(payload, due_s)

    @abstractmethod
    def outstanding(self, server: redis.Redis) -> int:
        """Messages that wait or run, by the peer's own keys."""

    def workers(self, late: bool) -> list[list[str]]:
        """The commands of one worker process, and of its scheduler where delays need one."""
        return [[sys.executable, *sys.argv[:2], "worker", "late" if late else "noop"]]

    def worker_environment(self, late: bool) -> dict[str, str]:
        """Settings that the peer takes from its environment."""
        return {}

    def run_worker(self, late: bool) -> None:
        """Where the peer's command line cannot express the best setting; asked for only by the command of `workers`."""
        raise NotImplementedError(f"{type(self).__name__} names no command for its worker, and cannot run one itself")

    def each(self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> None:
        for one in arguments:
            function(*one)


class AsyncProgram(Program):
    """One peer with an asyncio client: `send`, `send_bulk`, `delay`, `open` and `close` are coroutines."""

    def __init__(self) -> None:
        use_uvloop()
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)

    def each(self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> None:
        async def run() -> None:
            for one in arguments:
                await function(*one)

        self.loop.run_until_complete(run())


def use_uvloop() -> None:
    """For every event loop of this process, the worker's as the sender's."""
    import uvloop

    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())


def payload(number: int) -> str:
    return f"{number:0{PAYLOAD_BYTES}d}"


def main(program_type: type[Program], phase: str, options: str) -> None:
    """Runs one phase with its options in JSON, and prints one line of JSON."""
    if phase == "worker":
        program_type().run_worker(late=options == "late")
        return
    signal.signal(signal.SIGTERM, lambda signum, frame: sys.exit(128 + signum))
    _end_with_harness()
    program = program_type()
    server = redis.Redis.from_url(URL)
    program.each(program.open, [()])
    try:
        result = PHASES[phase](program, server, **json.loads(options))
    finally:
        program.each(program.close, [()])
    result["versions"] = {name: metadata.version(name) for name in (*program.packages, "redis")}
    result["settings"], result["guarantee"] = program.settings, program.guarantee
    print(json.dumps(result), flush=True)


def _send(program: Program, server: redis.Redis, count: int) -> dict[str, Any]:
    warm = count // 10
    program.each(program.send, ((payload(number),) for number in range(warm)))
    begun = time.monotonic()
    program.each(program.send, ((payload(number),) for number in range(warm, count)))
    seconds = time.monotonic() - begun
    _expect(program, server, count)
    return {"count": count - warm, "seconds": seconds}


def _bulk(program: Program, server: redis.Redis, count: int, chunk: int) -> dict[str, Any]:
    if program.bulk:
        return {"unsupported": program.bulk}
    chunks = [[payload(number) for number in range(at, min(at + chunk, count))] for at in range(0, count, chunk)]
    program.each(program.send_bulk, [(chunks[0],)])
    begun = time.monotonic()
    program.each(program.send_bulk, ((one,) for one in chunks[1:]))
    seconds = time.monotonic() - begun
    _expect(program, server, count)
    return {"count": count - len(chunks[0]), "seconds": seconds}


def _delayed(program: Program, server: redis.Redis, count: int, delay_s: float) -> dict[str, Any]:
    due = time.time() + delay_s
    program.each(program.store_delayed, ((payload(number), due) for number in range(count)))
    _expect(program, server, count)
    return {"count": count}


def _consume(program: Program, server: redis.Redis, count: int, timeout_s: float) -> dict[str, Any]:
    """Time from the first job until the last one is acknowledged; the start of the worker is not in it."""
    _expect(program, server, count)
    with _working(program, count, late=False) as noted:
        done = noted("done", timeout_s)
        deadline = time.monotonic() + timeout_s
        while left := program.outstanding(server):
            if time.monotonic() > deadline:
                raise SystemExit(f"all {count} jobs ran, but {left} were not acknowledged")
            time.sleep(POLL_S)
        settled = time.monotonic()
    return {"count": count, "seconds": settled - done["first"], "settling_seconds": settled - done["last"]}


def _lateness(
    program: Program, server: redis.Redis, count: int, rate: float, delay_s: float, timeout_s: float
) -> dict[str, Any]:
    """Sends `rate` a second, each due `delay_s` after its turn to be sent, while a worker runs."""
    with _working(program, count, late=True) as noted:
        program.each(program.delay, [(PROBE, time.time() + 1)])
        noted("ready", timeout_s)
        start = time.time() + 0.2
        behind_s = 0.0

        def turns() -> Iterator[tuple[str, float]]:
            nonlocal behind_s
            for number in range(count):
                turn = start + number / rate
                behind_s = max(behind_s, time.time() - turn)
                time.sleep(max(turn - time.time(), 0))
                yield f"{turn + delay_s:.6f}".rjust(PAYLOAD_BYTES), turn + delay_s

        program.each(program.delay, turns())
        done = noted("done", timeout_s)
    return {"count": count, "late_ms": done["late_ms"], "sender_behind_ms": behind_s * 1000}


PHASES: dict[str, Callable[..., dict[str, Any]]] = {
    "send": _send,
    "bulk": _bulk,
    "delayed": _delayed,
    "consume": _consume,
    "lateness": _lateness,
}


def _expect(program: Program, server: redis.Redis, count: int) -> None:
    found = program.outstanding(server)
    if found != count:
        raise SystemExit(f"{count} messages should be waiting, Redis holds {found}")


@contextlib.contextmanager
def _working(program: Program, count: int, late: bool) -> Iterator[Callable[[str, float], dict[str, Any]]]:
    """The peer's worker processes; yields a function that waits for a note of the job's."""
    with tempfile.TemporaryDirectory(prefix="bench-notes-") as folder:
        here = Path(__file__).parent
        env = os.environ | {"BENCH_NOTES": folder, "BENCH_COUNT": str(count), "BENCH_LATE": str(int(late))}
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(here), os.environ.get("PYTHONPATH")]))
        env |= program.worker_environment(late)
        processes: list[subprocess.Popen[bytes]] = []

        def noted(name: str, timeout_s: float) -> dict[str, Any]:
            path, deadline = Path(folder) / name, time.monotonic() + timeout_s
            while not path.exists():
                if any(process.poll() is not None for process in processes):
                    raise SystemExit(f"a worker process ended before it was {name}")
                if time.monotonic() > deadline:
                    raise SystemExit(f"the worker was not {name} within {timeout_s:.0f} s")
                time.sleep(POLL_S)
            content: dict[str, Any] = json.loads(path.read_text())
            return content

        try:
            for command in program.workers(late):
                # Their output would mix with our line of JSON: it goes where errors go.
                process = subprocess.Popen(command, env=env, cwd=here, stdin=subprocess.DEVNULL, stdout=sys.stderr)
                processes.append(process)
            yield noted
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(5)
                process.kill()
                process.wait()


def _end_with_harness() -> None:
    """The harness holds the other end of stdin: when that closes, it is gone, and so shall we be."""

    def wait() -> None:
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()
