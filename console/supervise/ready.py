"""Says where to go as soon as everything answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

WITHIN_S = 60
EVERY_S = 0.5
ANSWER_S = 5.0
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def announce_when_ready(say: Callable[[str], None], host: str, port: int, sub_path: str, account: str) -> None:
    """Returns at once; `account` says how to sign in."""
    shown = "localhost" if host in ("127.0.0.1", "::1", *EVERYWHERE) else f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}{sub_path}/"

    def wait() -> None:
        for _ in range(round(WITHIN_S / EVERY_S)):
            if _answers(EVERYWHERE.get(host, host), port, f"{sub_path}/api/v1/health/ready"):
                say(f"ready: {address}\n{account}")
                return
            pause.wait(EVERY_S)
        say(f"not everything answered within {WITHIN_S} s; see above. The address is {address}")

    pause = threading.Event()
    threading.Thread(target=wait, name="announce", daemon=True).start()


def _answers(host: str, port: int, path: str) -> bool:
    # A client of the standard library would bring ten megabytes that stay.
    with contextlib.suppress(OSError), socket.create_connection((host, port), ANSWER_S) as line:
        line.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost:{port}\r\n\r\n".encode())
        with line.makefile("rb") as answer:
            return answer.readline().split()[1:2] == [b"200"]
    return False
