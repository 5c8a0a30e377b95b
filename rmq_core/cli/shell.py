"""What every command of the engine has: where the queue is, and how results are printed."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import click

from rmq_core.client.rmq import RMQ
from rmq_core.model.text import shown
from rmq_core.queries.present import now_ms

DEFAULT_URL = "redis://localhost:6379/0"
FIRST_MS = 2_000
"""So long a person waits for a server that is not there; one that goes away later has as long as for programs."""


class Usage(click.ClickException):
    """A combination of arguments that means nothing; the sentence says what is needed."""

    exit_code = 2


def complain(sentence: str) -> None:
    """A line on standard error, with the program's name."""
    context = click.get_current_context(silent=True)
    program = context.find_root().info_name if context else None
    click.echo(f"{'rmq' if program == 'rmq' else 'rmq_core'}: {sentence}", err=True)


class Shell:
    """One command's view of the queue and of whoever reads what it prints."""

    def __init__(self, url: str, namespace: str, as_json: bool) -> None:
        self.url = url
        self.namespace = namespace
        self.as_json = as_json

    def client(self) -> RMQ:
        """The client the command line asks for, of a server that answers."""
        # One that takes the connection and says nothing is given up as soon as one that is not there.
        with RMQ(_hurried(self.url), self.namespace, retry_for_ms=FIRST_MS) as first:
            first.run(now_ms(first.keyspace))
        return RMQ(self.url, self.namespace)

    def show(self, value: Any, lines: Sequence[str]) -> None:
        """Prints a result as JSON, or as lines for people."""
        click.echo(json.dumps(value, indent=2) if self.as_json else "\n".join(lines))

    def table(self, value: Any, heads: Sequence[str], rows: Iterable[Sequence[object]], empty: str) -> None:
        """Prints rows in columns; people at a terminal get the heads of the columns, too."""
        if self.as_json:
            self.show(value, [])
            return
        cells = [[shown(str(cell)) for cell in row] for row in rows]
        if not cells:
            click.echo(empty)
            return
        widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
        right = [all(_is_number(row[i]) for row in cells) for i in range(len(heads))]

        def line(row: Sequence[str]) -> str:
            return "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(row, widths, right, strict=True)
            ).rstrip()

        if sys.stdout.isatty():
            click.secho(line(heads), bold=True)
        for row in cells:
            click.echo(line(row))

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        """A bar on standard error where that is a terminal; call what it gives with each further number."""
        hidden = not sys.stderr.isatty()
        with click.progressbar(length=max(1, total), label=label, file=sys.stderr, hidden=hidden) as bar:
            yield bar.update


def _hurried(url: str) -> str:
    """The same address with a short patience for each answer, unless it says how long."""
    if "socket_timeout=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}socket_timeout={FIRST_MS / 2_000:g}"


def moment(at_ms: int) -> str:
    """A time, for people."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).replace(tzinfo=None).isoformat(" ", "milliseconds")


def _is_number(cell: str) -> bool:
    return cell == "" or cell.replace(",", "").lstrip("-").isdecimal()


def command(run: Callable[..., int | None]) -> click.Command:
    """A command of the engine: ``run`` gets a `Shell`, then its own options; what it returns is the exit code."""
    made = silent(run)
    made.params.insert(-2, click.Option(["--json", "as_json"], is_flag=True, help="Print JSON instead of lines."))
    return made


def silent(run: Callable[..., int | None]) -> click.Command:
    """The same for a command that has no result to print."""

    @functools.wraps(run)
    def with_shell(url: str, namespace: str, as_json: bool = False, **given: Any) -> int:
        return run(Shell(url, namespace, as_json), **given) or 0

    made = click.command(with_shell)
    made.params += [
        click.Option(["--url"], default=DEFAULT_URL, envvar="RMQ_URL", show_envvar=True, help="Redis URL."),
        click.Option(
            ["--namespace"], default="rmq", envvar="RMQ_NAMESPACE", show_envvar=True, help="Prefix of all keys."
        ),
    ]
    return made
