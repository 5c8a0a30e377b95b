"""`manage.py help up`: the command itself runs without Django, see `console.supervise.up`."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand

from console.supervise.up import up
from rmq_core.cli.main import run


class Command(BaseCommand):
    help = "Run everything on this machine, in one log."

    def run_from_argv(self, argv: list[str]) -> None:
        sys.exit(run(up, argv[2:], f"{argv[0]} up"))

    def print_help(self, prog_name: str, subcommand: str) -> None:
        run(up, ["--help"], f"{prog_name} {subcommand}")

    def handle(self, *args: Any, **options: Any) -> None:
        up.main([], standalone_mode=False)
