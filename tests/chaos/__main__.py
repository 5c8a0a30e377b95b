"""``python -m tests.chaos [--rounds N] [--only WORDS] …``: causes every fault again and again under load.

Prints a table in Markdown; ends with 1 when a promise was broken. Then once more, with faults of all kinds in turn.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import sys
import time
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.chaos.faults import FAULTS, Fault
from tests.chaos.stage import SESSION_MS, Load, stage

BETWEEN = 500
"""Messages worked off in peace before the next fault."""

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "chaos.json"


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    fault: str
    faults: int
    messages: int
    lost: int
    early: int
    overlapping: int
    disordered: int
    late: int
    late_of_others: int
    repeated: int
    wrongly_dead: int
    owned_again_s: tuple[float, ...]

    @property
    def broken(self) -> bool:
        """Whether a promise was not kept."""
        return bool(
            self.lost or self.early or self.overlapping or self.disordered or self.late_of_others or self.wrongly_dead
        )

    def markdown(self) -> str:
        median, worst = statistics.median(self.owned_again_s), max(self.owned_again_s)
        cells = [
            self.fault,
            self.faults,
            f"{self.messages:,}",
            self.lost,
            self.early,
            self.overlapping,
            self.disordered,
        ]
        cells += [self.late, self.repeated, self.wrongly_dead, f"{median:.2f} / {worst:.2f}"]
        return "| " + " | ".join(map(str, cells)) + " |"


HEADS = ("fault", "times", "messages", "lost", "early", "overlapping", "out of order", "late, refused", "repeated")
HEADS += ("wrongly dead", "owned again, s")
HEAD = f"| {' | '.join(HEADS)} |\n{'|---' * len(HEADS)}|"


def suffer(name: str, faults: Iterable[Fault], seed: int, session_ms: int) -> Row:
    """Causes faults under load, then lets everything be worked off and judges."""
    namespace = f"chaos{uuid.uuid4().hex[:8]}"
    with stage(namespace, seed, session_ms) as on:
        times = []
        with Load(on.fleet):
            for fault in faults:
                times.append(fault(on))
                on.fleet.owned_by(*on.fleet.workers, timeout_s=120)
                on.fleet.wait_done(on.fleet.sent + BETWEEN, timeout_s=120)
        on.fleet.wait_done(timeout_s=300)
        verdict = on.fleet.verdict()
        late = [*verdict.stale_starts, *verdict.stale_ends]
        row = Row(
            name,
            len(times),
            on.fleet.sent,
            on.fleet.sent - on.fleet.done(),
            on.fleet.early(),
            len(verdict.overlaps),
            len(verdict.disorder),
            len({entry.id for entry in late}),
            len({entry.id for entry in late if entry.worker not in on.frozen}),
            verdict.repeated,
            on.fleet.died() - on.killers,
            tuple(times),
        )
        if row.broken:
            print(*verdict.overlaps[:5], *verdict.disorder[:5], *late[:5], sep="\n", file=sys.stderr)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="how often each fault is caused (10)")
    parser.add_argument("--only", default="", help="faults whose name holds these words")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="who is hit")
    parser.add_argument(
        "--session-ms", type=int, default=SESSION_MS, help=f"how long a session lasts without a word ({SESSION_MS})"
    )
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, _end)
    print(f"seed {chosen.seed}, sessions of {chosen.session_ms} ms, {chosen.rounds} rounds\n\n{HEAD}", flush=True)
    plan = {name: [fault] * chosen.rounds for name, fault in FAULTS.items() if chosen.only in name}
    if not chosen.only:
        plan["all of them in turn"] = list(FAULTS.values()) * max(1, chosen.rounds // 3)
    rows, broken = [], False
    for name, faults in plan.items():
        try:
            row = suffer(name, faults, chosen.seed, chosen.session_ms)
        except AssertionError as error:  # the others are worth knowing all the same
            broken = True
            print(f"| {name} | not finished: {error} |", flush=True)
            continue
        rows.append(row)
        broken |= row.broken
        print(row.markdown(), flush=True)
    if not chosen.only:
        document = {"measured_at": datetime.now(UTC).isoformat(timespec="seconds"), "session_ms": chosen.session_ms}
        document |= {"seed": chosen.seed, "rows": [asdict(row) for row in rows]}
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(document, indent=1) + "\n")
    return 1 if broken else 0


def _end(number: int, _: object) -> None:
    """As Ctrl-C does: everything that was started is ended and tidied away."""
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    raise SystemExit(main())
