"""A group of commands in sections, each imported when it is asked for."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

Sections = Mapping[str, Mapping[str, str]]
"""Title of a section → name of a command → the module that holds it, as an attribute of that name ("_" for "-")."""

WIDTH = 100


class Sectioned(click.Group):
    """Its help lists the commands by section."""

    def __init__(self, sections: Sections, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.sections = sections
        self._home_of = {name: home for section in sections.values() for name, home in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self._home_of]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        home = self._home_of.get(cmd_name)
        if home is None:
            return None
        command = getattr(import_module(home), cmd_name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self._home_of and not name.startswith("-"):
            meant = " or ".join(difflib.get_close_matches(name, self._home_of, 2))
            ctx.fail(f"there is no command {name!r}" + (f"; did you mean {meant}?" if meant else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, section in self.sections.items():
            rows = []
            for name in section:
                command = self.get_command(ctx, name)
                assert command is not None
                rows.append((name, command.get_short_help_str(WIDTH)))
            with formatter.section(title):
                formatter.write_dl(rows)
