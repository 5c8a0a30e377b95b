"""``tenants``: who causes a topic's load."""

from __future__ import annotations

from dataclasses import asdict

import click

from rmq_core.cli.shell import Shell, command
from rmq_core.client.inspector import Inspector
from rmq_core.model.tenants import TenantTurn
from rmq_core.queries.load import TENANTS_MOST

HEADS: tuple[str, ...] = ("tenant", "sent /s", "share", "taken /s", "share")
TURN_HEADS = ("next", "waiting", "weight", "of all turns")


def _turn(found: tuple[str, TenantTurn] | None) -> tuple[str, ...]:
    if found is None:
        return ("-", "0", "-", "-")
    place, turn = found
    return place, str(turn.waiting), str(turn.weight), f"{turn.share:.1%}"


@command
@click.argument("topic")
@click.option("--limit", type=click.IntRange(1, TENANTS_MOST), default=20, help="So many at most.")
def tenants(shell: Shell, topic: str, limit: int) -> None:
    """Say who causes a topic's load, and on a fair topic whose turn it is."""
    with shell.client() as rmq:
        found = Inspector(rmq).tenants(topic, limit)
    turns = {each.tenant: (str(place), each) for place, each in enumerate(found.turns, 1)}
    rows = [
        (
            each.tenant,
            f"{each.sent_s:.3f}",
            f"{each.sent_share:.1%}",
            f"{each.taken_s:.3f}",
            f"{each.taken_share:.1%}",
        )
        for each in found.tenants
    ]
    heads = HEADS
    if found.fair:
        loads = {row[0]: row for row in rows}
        named = [*turns, *(tenant for tenant in loads if tenant not in turns)]
        rows = [(*loads.get(tenant, (tenant, *"----")), *_turn(turns.get(tenant))) for tenant in named]
        heads += TURN_HEADS
    shell.table(asdict(found), heads, rows, "no message has named a tenant lately")
