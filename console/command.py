"""The command ``rmq``: the engine's commands, ``rmq up`` for everything, and what the pipeline and the console do."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from console.__main__ import main as run_console
from rmq_core.cli.main import ENGINE, group, run

PROGRAM = "rmq"
HERE = "console.command"
SECTIONS = {
    "Everything on this machine": {"up": "console.supervise.up"},
    **ENGINE,
    "Messages": {**ENGINE["Messages"], "restore": HERE},
    "Archive and reconciliation (Spark)": {"archive": HERE, "reconcile": HERE},
    "Console": {"token": HERE, "outbox": HERE, "recurring": HERE, "console": HERE},
}
ABOUT_THE_QUEUE = {name for section in ENGINE.values() for name in section} | {"archive", "reconcile"}


def main() -> int:
    """The exit code."""
    if sys.argv[1:2] and sys.argv[1] in ABOUT_THE_QUEUE and not os.environ.get("RMQ_URL"):
        os.environ["RMQ_URL"] = _redis_of_the_console()
    about = "A message queue on Redis sorted sets, and the console from which a team runs it."
    return run(group(SECTIONS, about), None, PROGRAM)


def _redis_of_the_console() -> str:
    """RMQ_REDIS_URL, or the address that ``rmq up`` has left in the data folder; empty where there is none.

    The command needs no console: one that is not installed, or whose other settings are wrong, is no reason to end, nor
    to turn to another server than the one that is named.
    """
    try:
        from console.config.environment import read_environment

        return read_environment().redis_url
    except Exception:  # there is no Django to name what is wrong with its settings
        return os.environ.get("RMQ_REDIS_URL") or os.environ.get("REDIS_URL") or ""


def passing_on(**attributes: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """A command that hands everything it is given to a program with options of its own."""
    settings = {"ignore_unknown_options": True, "help_option_names": []}
    arguments = click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)

    def made(function: Callable[..., Any]) -> click.Command:
        name = function.__name__
        return click.Command(name, context_settings=settings, callback=function, params=[arguments], **attributes)

    return made


@passing_on(short_help="Bring back what was removed, or (--archive) what a lost server held.")
def restore(arguments: tuple[str, ...]) -> int:
    if any(each.partition("=")[0] == "--archive" for each in arguments):
        return _pipeline("restore", arguments)
    return run(group(ENGINE, ""), ["restore", *arguments], PROGRAM)


@passing_on(short_help="Bring what the journals hold into the archive; archive erase: erase messages from it.")
def archive(arguments: tuple[str, ...]) -> int:
    if arguments[:1] == ("erase",):
        return _pipeline("erase", arguments[1:])
    return _pipeline("archive", arguments)


@passing_on(short_help="Compare journals, queues and a business ledger; report.")
def reconcile(arguments: tuple[str, ...]) -> int:
    return _pipeline("reconcile", arguments)


def _pipeline(name: str, arguments: tuple[str, ...]) -> int:
    try:
        from rmq_core.pipeline.__main__ import main as run_pipeline
    except ModuleNotFoundError as error:
        raise SystemExit(str(error)) from None
    return run_pipeline([name, *arguments], PROGRAM)


@passing_on(short_help="Make, list and revoke API tokens.")
def token(arguments: tuple[str, ...]) -> None:
    run_console(["token", *arguments], PROGRAM)


@passing_on(short_help="Relay what was committed; list, retry and discard what failed.")
def outbox(arguments: tuple[str, ...]) -> None:
    run_console(["outbox", *arguments], PROGRAM)


@passing_on(short_help="List recurring messages and their ticks; run, disable and enable them.")
def recurring(arguments: tuple[str, ...]) -> None:
    run_console(["recurring", *arguments], PROGRAM)


@passing_on(short_help="The console's own commands: migrate, createsuperuser, worker, keeper, …")
def console(arguments: tuple[str, ...]) -> None:
    run_console([*arguments], "rmq console")
