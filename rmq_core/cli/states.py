"""States as options of a command."""

from __future__ import annotations

from typing import Any

import click

from rmq_core.cli.shell import complain
from rmq_core.model.states import FORMER, FORMER_END


class StateChoice(click.Choice[str]):
    """One of some states; a former name is taken, with a notice."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Raises `click.BadParameter` for what is none of them."""
        if value in FORMER:
            complain(f"the state {value} is {FORMER[value]} now; the former name ends with release {FORMER_END}")
            value = FORMER[value]
        return super().convert(value, param, ctx)
