"""A peer whose worker does nothing; writes down which processes there are."""

from __future__ import annotations

import os
import time
from pathlib import Path

from list_peer import ListPeer


class HangingPeer(ListPeer):
    def run_worker(self, late: bool) -> None:
        server = self.client_pid()
        Path(os.environ["BENCH_PIDS"]).write_text(f"{os.getppid()} {os.getpid()} {server}")
        time.sleep(600)

    def client_pid(self) -> int:
        self.open()
        return int(self.client.info("server")["process_id"])


PEER = HangingPeer
