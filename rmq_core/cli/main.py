"""``python -m rmq_core``: the engine's commands. What the installed ``rmq`` adds is in `console.command`."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from rmq_core.cli.group import Sectioned, Sections
from rmq_core.cli.shell import Usage
from rmq_core.errors import RMQError, is_usage
from rmq_core.model.text import NotText, check_arguments, shown
from rmq_core.printing import spell_out

ENGINE: Sections = {
    "Messages": {
        "send": "rmq_core.cli.sending",
        "take": "rmq_core.cli.taking",
        "peek": "rmq_core.cli.reading",
        "report": "rmq_core.cli.reporting",
        "tail": "rmq_core.cli.tailing",
        "why": "rmq_core.cli.asking",
        "cancel": "rmq_core.cli.actions",
        "run-now": "rmq_core.cli.actions",
        "reschedule": "rmq_core.cli.actions",
        "restore": "rmq_core.cli.actions",
        "holds": "rmq_core.cli.holding",
        "hold": "rmq_core.cli.holding",
        "lift": "rmq_core.cli.holding",
        "order": "rmq_core.cli.ordering",
        "skip": "rmq_core.cli.ordering",
    },
    "Dead letters": {
        "dead": "rmq_core.cli.reading",
        "clusters": "rmq_core.cli.reading",
        "requeue": "rmq_core.cli.actions",
        "drop": "rmq_core.cli.actions",
    },
    "Topics": {
        "topics": "rmq_core.cli.topics",
        "stats": "rmq_core.cli.topics",
        "tenants": "rmq_core.cli.tenants",
        "limit-tenant": "rmq_core.cli.tenants",
        "bands": "rmq_core.cli.bands",
        "journal": "rmq_core.cli.journal",
        "pause": "rmq_core.cli.members",
        "resume": "rmq_core.cli.members",
    },
    "Groups of streams": {
        "groups": "rmq_core.cli.groups",
        "position": "rmq_core.cli.groups",
        "members": "rmq_core.cli.members",
        "claim": "rmq_core.cli.members",
        "stuck": "rmq_core.cli.members",
    },
    "Routes": {
        "routes": "rmq_core.cli.routes",
        "route": "rmq_core.cli.routes",
        "forward": "rmq_core.cli.routes",
        "redrive": "rmq_core.cli.routes",
    },
    "Workers": {
        "worker": "rmq_core.cli.working",
        "owners": "rmq_core.cli.owners",
        "drain": "rmq_core.cli.owners",
        "undrain": "rmq_core.cli.owners",
        "pin": "rmq_core.cli.owners",
        "unpin": "rmq_core.cli.owners",
        "unfence": "rmq_core.cli.owners",
    },
}

EXIT_CODES = "Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 130 interrupted."


def group(sections: Sections, about: str) -> click.Group:
    """A program of these commands."""
    settings = {"help_option_names": ["-h", "--help"], "show_default": True, "max_content_width": 100}
    root = Sectioned(sections, help=about, epilog=EXIT_CODES, context_settings=settings)
    return click.version_option(package_name="rmq-console", message="%(version)s")(root)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command of the engine; returns the exit code."""
    return run(group(ENGINE, "A message queue on Redis sorted sets."), argv, "python -m rmq_core")


@contextmanager
def _interrupts_again() -> Iterator[None]:
    """A Ctrl-C that comes while Python throws something away is ignored there, and who follows would go on for ever."""
    before = sys.unraisablehook

    def look(ignored: sys.UnraisableHookArgs) -> None:
        if ignored.exc_type is KeyboardInterrupt:
            threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
        else:
            before(ignored)

    sys.unraisablehook = look
    try:
        yield
    finally:
        sys.unraisablehook = before


@_interrupts_again()
def run(root: click.Command, argv: Sequence[str] | None, program: str) -> int:
    """Runs a command; whatever it refuses is said in one sentence on standard error."""
    name = "rmq" if program == "rmq" else "rmq_core"
    given = list(sys.argv[1:] if argv is None else argv)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - for the rest of the process
    if sys.stdout is None:  # what is to be settled once it is printed would be settled unseen
        click.echo(f"{name}: standard output is closed: send it to a file, or to {os.devnull}", err=True)
        return 1
    spell_out()
    try:
        check_arguments(given)
    except NotText as error:
        click.echo(f"{name}: {error}; content that is no text goes through standard input ('-')", err=True)
        return 2
    try:
        color = False if os.environ.get("NO_COLOR") else None
        return int(root.main(given, prog_name=program, standalone_mode=False, color=color) or 0)
    except Usage as error:
        click.echo(f"{name}: {error.message}", err=True)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):  # in a command, or before there was one
        return 130
    except (RMQError, OSError) as error:  # ours, or that of whatever is written to
        click.echo(f"{name}: {shown(str(error))}", err=True)
        return 2 if is_usage(error) else 1
