"""Acting on very many: a cluster of dead letters requeued by a filter, batch after batch, in bounded memory."""

from __future__ import annotations

import os
import time
from pathlib import Path

from benchmarks.harness import PrivateRedis, Report, alternate_many, at_least, at_most, repeats_for
from rmq_core import RMQ, Control, Inspector, MessageFilter, PriorityMessage, Topic, TopicKind
from rmq_core.model.fingerprints import fingerprint

SLOTS = 64
BATCH = 1_000
CONTENT = b"message-%08d"
ERROR, WORDS = "ConnectionError", "no answer from 10.0.0.%d after 30 s"
OTHERS = 20
"""Every so many-th letter died of something else, and stays dead."""

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES / 2**20


def main(quick: bool) -> None:
    count = 20_000 if quick else 1_000_000
    with PrivateRedis() as server, RMQ(server.url) as rmq:
        inspector, control = Inspector(rmq), Control(rmq)

        def fill() -> int:
            """Sends, takes, and lets everything fail for good; how many died of what the filter asks for."""
            rmq.connection.client.flushdb()
            rmq.define(Topic("bench", TopicKind.PRIORITY, slots=SLOTS, max_retries=0))
            rmq.send_many("bench", (PriorityMessage(CONTENT % i, 17 + i % 100) for i in range(count)))
            wanted = failed = 0
            while deliveries := rmq.take("bench", BATCH):
                ours = [each for i, each in enumerate(deliveries, failed) if i % OTHERS]
                rest = [each for i, each in enumerate(deliveries, failed) if not i % OTHERS]
                rmq.nack(ours, error=ERROR, message=WORDS % (failed % 250))
                rmq.nack(rest, error="ValueError", message="not a number")
                wanted += len(ours)
                failed += len(deliveries)
            if failed != count:
                raise RuntimeError(f"{failed} of {count} messages died")
            return wanted

        def requeue() -> dict[str, float]:
            wanted = fill()
            chosen = MessageFilter("dead", fingerprint=fingerprint(ERROR, WORDS % 7))
            began_ms = time.perf_counter()
            preview = inspector.preview("bench", chosen)
            preview_ms = (time.perf_counter() - began_ms) * 1000
            if (preview.count, preview.exact) != (wanted, True):
                raise RuntimeError(f"the preview says {preview}, there are {wanted}")
            before = peak = resident_mib()
            slowest = 0.0
            done, cursor = 0, None
            began = time.perf_counter()
            while True:
                turn = time.perf_counter()
                found = inspector.select_refs("bench", chosen, cursor, scan=BATCH)
                results = control.requeue("bench", found.refs)
                done += sum(result.status == "done" for result in results)
                slowest = max(slowest, time.perf_counter() - turn)
                peak = max(peak, resident_mib())
                cursor = found.next_cursor
                if cursor is None:
                    break
            spent = time.perf_counter() - began
            left = sum(each.count for each in inspector.dead_clusters("bench"))
            if done != wanted or left != count - wanted:
                raise RuntimeError(f"{done} requeued of {wanted}, {left} dead of {count}")
            return {
                "requeued": done / spent,
                "preview": preview_ms,
                "slowest batch": slowest * 1000,
                "memory": peak - before,
            }

        series = alternate_many({"requeue": requeue}, repeats_for(quick))["requeue"]
        names = ["requeue by cluster", "preview of a cluster", "slowest batch", "memory above that before"]
        settings = {"dead letters": count, "batch": BATCH, "slots": SLOTS, "other causes": f"1 in {OTHERS}"}
        report = Report("operations", quick, server, names, settings)
        report.add(names[0], series["requeued"], "/s", bar=at_least(20_000))
        report.add(names[1], series["preview"], "ms")
        report.add(names[2], series["slowest batch"], "ms")
        report.add(names[3], series["memory"], "MiB", bar=at_most(64))
        report.finish()
