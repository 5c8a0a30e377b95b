"""Stands in for the pipeline's command: takes the same arguments, tells stages, leaves a report of a few rows.

What it is to do is in the environment variable RUN_AS: `well`, `fails`, `hangs`, `lingers` (hangs, and once
stopped needs a while to end, as Spark does), `dies`, `no-report`, `lines`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

FINDINGS = [
    ("orphan_body", "orders", 1, b"ghost", {"queues": [], "at_ms": 5}, "drop_orphan"),
    ("stuck_in_prepare", "orders", 2, b"late", {"taken_ms": 1}, "requeue"),
    ("lost", "orders", 3, b"gone", {"score": 7, "error": "secret", "missing": ["waiting"]}, "send_again"),
    ("slot_ledger", "orders", 0, None, {"gap": 1}, "none"),
]


def main() -> int:
    if sys.argv[1:2] != ["serve"]:
        return work(sys.argv[1:])
    for line in sys.stdin:
        asked = json.loads(line)
        with Path(asked["log"]).open("a") as log, contextlib.redirect_stderr(log):
            try:
                code = work(asked["arguments"])
            except KeyboardInterrupt:
                print(json.dumps({"ended": 130, "last": True}), flush=True)
                time.sleep(3)
                return 130
        print(json.dumps({"ended": code}), flush=True)
    return 0


def work(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    for name in ("namespace", "archive", "reports", "run", "ledger", "progress", "into", "at"):
        parser.add_argument(f"--{name}", default="")
    for name in ("ids", "slot-bases", "reason"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--topic", action="append", default=[])
    for name in ("dry-run", "anew", "from-scratch"):
        parser.add_argument(f"--{name}", action="store_true")
    given = parser.parse_args(arguments)
    how = os.environ.get("RUN_AS", "well")
    for at, stage in enumerate(("snapshot", "replay", "report")):
        print(json.dumps({"stage": stage, "done": 1, "total": 2, "percent": 30 * at}), flush=True)
        cost = {"rows": 7, "read_bytes": 2_048, "shuffled_bytes": 0} if stage == "snapshot" else {}
        print(json.dumps({"stage": stage, "done": 2, "total": 2, "percent": 30 * at + 30} | cost), flush=True)
    if how == "lines":
        print("{not json", flush=True)
    if how == "fails":
        print("noise\nThe archive is locked by another job.", file=sys.stderr)
        return 1
    if how == "dies":
        os._exit(9)
    if how == "lingers":
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    while how in ("hangs", "lingers"):
        time.sleep(0.05)
    if how != "no-report" and given.command == "reconcile":
        write_report(Path(given.reports) / given.run, given.run)
    if given.command == "restore":
        left = {"topic": "orders", "slot": 3, "reason": "file", "advice": "bring it back"}
        said = ["left out: topic orders, slot 3: its history is not whole (file). Bring it back."]
        if given.into:
            said = [f"into {given.into} at {given.at or 'present'}{', counted only' * given.dry_run}"]
        counts = {"orders": {"waiting": 10, "dead": 2}}
        told = {"restored": 12, "present": 1, "left_out": [left], "said": said, "counts": counts}
        print(json.dumps(told), flush=True)
    if given.command == "erase":
        return erase(given)
    if given.command == "archive":
        gone = {"topic": "orders", "before": "2026-11-01", "days": 2, "transitions": 30, "freed_bytes": 4096}
        told = {"rows": 100, "batches": 1, "trimmed": 50, "compacted": 3, "forgotten": 30, "let_go": [gone]}
        print(json.dumps(told), flush=True)
    return 0


def erase(given: argparse.Namespace) -> int:
    """Counts a message for each name; those that begin with "busy" stay."""
    ids = Path(given.ids).read_text().splitlines()
    bases = Path(given.slot_bases).read_text().splitlines()
    left = [{"topic": "orders", "id": each, "why": "redis"} for each in ids if each.startswith("busy")]
    n = len(ids) + len(bases) - len(left)
    told = {"messages": n, "transitions": 3 * n, "days": 1, "open": 0, "left": left, "record": "1", "said": []}
    told["mentioning"] = 1
    print(json.dumps(told), flush=True)
    if left and not given.dry_run:
        print(f"erased {n} messages; {len(left)} stay, as they are not over", file=sys.stderr)
        return 1
    return 0


def write_report(folder: Path, run: str) -> None:
    (folder / "findings").mkdir(parents=True)
    (folder / "topics").mkdir()
    columns = list(zip(*FINDINGS, strict=True))
    columns[4] = tuple(json.dumps(each) for each in columns[4])
    names = ["kind", "topic", "slot", "id", "evidence", "repair"]
    types = [pa.string(), pa.string(), pa.int32(), pa.binary(), pa.string(), pa.string()]
    arrays = [pa.array(each, kind) for each, kind in zip(columns, types, strict=True)]
    parquet.write_table(pa.table(arrays, names=names), folder / "findings" / "part-0.parquet")
    row = {"topic": "orders", "sent": 100, "acked": 90, "merge_ratio": 0.25, "lateness_p99_ms": 12, "causes": "[]"}
    parquet.write_table(pa.Table.from_pylist([row]), folder / "topics" / "part-0.parquet")
    counts = {kind: 1 for kind, *_ in FINDINGS}
    summary = {"run": run, "counts": counts, "complete": True, "gaps": [], "compared_with": None, "changes": None}
    (folder / "summary.json").write_text(json.dumps(summary))


if __name__ == "__main__":
    raise SystemExit(main())
