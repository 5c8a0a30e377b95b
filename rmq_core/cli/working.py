"""``worker``: consumes until it is stopped."""

from __future__ import annotations

import logging
import os
import sys

import click

from rmq_core.cli.shell import Shell, silent
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.worker import Worker, find_listeners


@silent
@click.argument("listeners", metavar="MODULE[:ATTRIBUTE]")
@click.option("--name", help="Unique in the fleet, best stable over restarts.")
@click.option("--threads", type=int, default=8, help="Plain listeners running at once.")
@click.option("--zookeeper", metavar="HOSTS", help="One owner per slot: hosts, or a zk:// URL (RMQ_ZOOKEEPER_URL).")
@click.option("--weight", type=int, default=1, help="Share of slots beside the others'.")
def worker(shell: Shell, listeners: str, name: str | None, threads: int, zookeeper: str | None, weight: int) -> None:
    """Consume with the listeners of a module until SIGTERM or Ctrl-C.

    What runs then is finished, what was not begun is given back; a second signal ends it at once.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
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
    ).run()
