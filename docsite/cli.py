"""Every command of `rmq` and its options, as its own help has them."""

from __future__ import annotations

from collections.abc import Iterator

import click

from console.command import SECTIONS
from docsite.tables import table
from rmq_core.cli.group import Sectioned

EVERYWHERE = {"url", "namespace", "as_json", "json", "help"}
"""Options of all commands; the page tells them once."""


def commands() -> str:
    """A part for each command, in the order of the help."""
    root = Sectioned(SECTIONS, name="rmq")
    parts = []
    with click.Context(root, info_name="rmq") as context:
        for section in SECTIONS.values():
            for name in section:
                command = root.get_command(context, name)
                assert command is not None
                parts.append("\n\n".join(_about(command, click.Context(command, context, info_name=name))))
    return "\n\n".join(parts)


def _about(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"### `rmq {context.info_name}`"
    yield " ".join((command.help or command.short_help or "").split())
    if "ignore_unknown_options" in command.context_settings:
        yield f"`rmq {context.info_name} --help` has its options."
        return
    usage = " ".join(piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]")
    yield f"Usage: `rmq {context.info_name} [OPTIONS] {usage}`".replace(" `", "`") if usage else ""
    options = [each for each in command.params if isinstance(each, click.Option) and each.name not in EVERYWHERE]
    if options:
        yield table(["option", "what"], [_row(option, context) for option in options])


def _row(option: click.Option, context: click.Context) -> tuple[str, str]:
    record = option.get_help_record(context)
    assert record is not None
    return f"`{record[0]}`", record[1].replace("[", "\\[")
