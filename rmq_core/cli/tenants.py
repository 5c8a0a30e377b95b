"""``tenants``: who causes a topic's load."""

from __future__ import annotations

from dataclasses import asdict

import click

from rmq_core.cli.shell import Shell, command
from rmq_core.client.inspector import Inspector
from rmq_core.queries.load import TENANTS_MOST

HEADS = ("tenant", "sent /s", "share", "taken /s", "share")


@command
@click.argument("topic")
@click.option("--limit", type=click.IntRange(1, TENANTS_MOST), default=20, help="So many at most.")
def tenants(shell: Shell, topic: str, limit: int) -> None:
    """Say who causes a topic's load: by tenant, sent and taken a second."""
    with shell.client() as rmq:
        found = Inspector(rmq).tenants(topic, limit)
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
    shell.table(asdict(found), HEADS, rows, "no message has named a tenant lately")
