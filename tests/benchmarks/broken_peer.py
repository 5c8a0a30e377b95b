"""A peer without bulk sending, whose worker ends at once."""

from __future__ import annotations

from list_peer import ListPeer


class BrokenPeer(ListPeer):
    bulk = "no bulk send"

    def run_worker(self, late: bool) -> None:
        raise SystemExit(3)


PEER = BrokenPeer
