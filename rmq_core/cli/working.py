"""``worker``: consumes until it is stopped."""

from __future__ import annotations

import os
import sys

import click

from rmq_core.cli.shell import Shell, silent
from rmq_core.hooks.chain import find_hooks
from rmq_core.hooks.logs import LogContext, configure_logs
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.worker import Worker, find_listeners


@silent
@click.argument("listeners", metavar="MODULE[:ATTRIBUTE]")
@click.option("--name", help="Unique in the fleet, best stable over restarts.")
@click.option("--threads", type=int, default=8, help="Plain listeners running at once.")
@click.option("--zookeeper", metavar="HOSTS", help="One owner per slot: hosts, or a zk:// URL (RMQ_ZOOKEEPER_URL).")
@click.option("--weight", type=int, default=1, help="Share of slots beside the others'.")
@click.option("--hooks", metavar="MODULE:NAME", multiple=True, help="Hooks, the first the outermost; may be repeated.")
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", help="One line, or one JSON object, a record."
)
def worker(
    shell: Shell,
    listeners: str,
    name: str | None,
    threads: int,
    zookeeper: str | None,
    weight: int,
    hooks: tuple[str, ...],
    log_format: str,
) -> None:
    """Consume with the listeners of a module until SIGTERM or Ctrl-C.

    What runs then is finished, what was not begun is given back; a second signal ends it at once.
    """
    configure_logs(log_format)
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - listeners live beside whoever starts this
    found = find_listeners(listeners)
    Worker(
        shell.url,
        found,
        name=name,
        namespace=shell.namespace,
        threads=threads,
        zookeeper=zookeeper or ZooKeeperConfig.from_env(),
        weight=weight,
        hooks=[LogContext(), *(hook for path in hooks for hook in find_hooks(path))],
    ).run()
