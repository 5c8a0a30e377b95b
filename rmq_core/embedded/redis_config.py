"""The text of a redis.conf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

ConfigValue = str | int | Sequence[str | int]


def render(config: Mapping[str, ConfigValue]) -> str:
    """One line per directive; a sequence is a directive with several arguments."""
    return "".join(_directive(name, value) for name, value in config.items())


def _directive(name: str, value: ConfigValue) -> str:
    arguments = (value,) if isinstance(value, str | int) else value
    return " ".join([name, *(_quoted(str(argument)) for argument in arguments)]) + "\n"


def _quoted(argument: str) -> str:
    escaped = argument.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
