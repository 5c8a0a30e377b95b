"""``tenants``: who causes a topic's load."""

from __future__ import annotations

from dataclasses import asdict

import click

from rmq_core.cli.shell import Shell, command
from rmq_core.client.control import Control
from rmq_core.client.inspector import Inspector
from rmq_core.model.tenants import TenantTurn
from rmq_core.queries.load import TENANTS_MOST

HEADS: tuple[str, ...] = ("tenant", "sent /s", "share", "taken /s", "share")
TURN_HEADS = ("next", "waiting", "weight", "of all turns", "limit")


def _turn(found: tuple[str, TenantTurn] | None) -> tuple[str, ...]:
    if found is None:
        return ("-", "0", "-", "-", "")
    place, turn = found
    limit = f"{turn.limit}, used up" if turn.capped and turn.limit != "held" else turn.limit
    return place, str(turn.waiting), str(turn.weight), f"{turn.share:.1%}", limit


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


@command
@click.argument("topic")
@click.argument("tenant")
@click.argument("limit")
def limit_tenant(shell: Shell, topic: str, tenant: str, limit: str) -> None:
    """Cap one TENANT of a fair topic: LIMIT is held, 10/s, 5/min, 100/h, '3 at once', '10/s 3 at once', or ''.

    Held, nothing of it is handed out. It is part of the topic's definition.
    """
    with shell.client() as rmq:
        stored = Control(rmq).limit_tenant(topic, tenant, limit)
    shell.show({"tenant_limits": stored.tenant_limits}, [stored.tenant_limits or "no tenant is limited"])
