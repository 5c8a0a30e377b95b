"""For `bench_history`, in a process of its own: fills a new database with all the history that some topics may have.

`python -m benchmarks.history_filling TOPICS SLOTS PERCENT` prints the bytes of blocks and of the database, as JSON.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from console.history import store  # noqa: E402
from console.history.numbers import NumbersBlock  # noqa: E402
from console.history.points import POINT, RATES  # noqa: E402
from console.history.slots import SlotsBlock  # noqa: E402
from console.history.store import Row  # noqa: E402
from console.history.tiers import NUMBERS, SLOTS, Tier  # noqa: E402
from rmq_core.model.samples import SlotSample  # noqa: E402
from rmq_core.model.stats import Counters, Histogram  # noqa: E402

NOW_MS = 1_800_000_000_000
OWNERS = ("worker-a", "worker-b", "worker-c")


def main(topics: int, slots: int, percent: int) -> None:
    call_command("migrate", verbosity=0)
    before = _database_bytes()
    chance = random.Random(1)
    for number in range(topics):
        topic = f"topic-{number}"
        for tier in NUMBERS:
            store.save(_numbers(topic, tier, chance))
        for tier in SLOTS:
            store.save(_slots(topic, tier, slots, percent, chance))
    blocks = sum(each.size for each in store.held())
    print(json.dumps({"blocks": blocks, "database": _database_bytes() - before}))


def _numbers(topic: str, tier: Tier, chance: random.Random) -> list[Row]:
    """Every number another one in every row."""
    rows = []
    level = dict.fromkeys(POINT[1:], 100.0)
    for start_ms in range(tier.block(NOW_MS - tier.keep_ms), NOW_MS, tier.span_ms):
        block = NumbersBlock(tier, start_ms)
        for at_ms in range(start_ms, min(start_ms + tier.span_ms, NOW_MS), tier.step_ms):
            for name in level:
                level[name] = max(0.0, level[name] + chance.gauss(0, 10))
            block.put([at_ms, *(round(each, 1) if name in RATES else round(each) for name, each in level.items())])
        rows.append(Row(topic, "numbers", tier.step_ms, start_ms, start_ms + tier.span_ms, block.pack()))
    return rows


def _slots(topic: str, tier: Tier, slots: int, percent: int, chance: random.Random) -> list[Row]:
    """In every step that many slots are another tenth, and in each of them everything is."""
    rows: list[Row] = []
    empty = SlotSample(
        0, 0, 0, 0, 0, 0, 0, 0, 0, None, None, None, None, None, b"", Counters(), Histogram()
    )  # fmt: skip
    seen = [replace(empty, slot=number) for number in range(slots)]
    owners = tuple(OWNERS[number % len(OWNERS)] for number in range(slots))
    block: SlotsBlock | None = None
    first = tier.step(NOW_MS - tier.keep_ms)
    for at_ms in range(first, NOW_MS, tier.step_ms):
        for number in chance.sample(range(slots), slots * percent // 100):
            known = seen[number]
            seen[number] = replace(
                known,
                at_ms=at_ms,
                store=max(0, known.store + chance.randint(-20, 20)),
                prepare=chance.randint(0, 3),
                dead=known.dead + (chance.random() < 0.01),
                oldest_due_ms=at_ms - chance.randint(0, 2_000),
                oldest_taken_ms=at_ms - chance.randint(0, 500),
                counters=Counters(acked=known.counters.acked + chance.randint(0, 6 * tier.step_ms // 1_000)),
            )
        if block is None or not block.takes(at_ms, slots):
            rows += [] if block is None else [_row(topic, block)]
            block = SlotsBlock(tier, at_ms, slots)
        block.add(at_ms, tuple(seen), owners)
    return rows if block is None else [*rows, _row(topic, block)]


def _row(topic: str, block: SlotsBlock) -> Row:
    return Row(topic, "slots", block.tier.step_ms, block.start_ms, block.end_ms, block.pack())


def _database_bytes() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        return int(cursor.fetchone()[0])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
