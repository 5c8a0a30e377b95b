"""``python -m console``: Django's command line for the console; ``python -m console up`` starts everything."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from rmq_core.cli.main import run
from rmq_core.model.text import NotText, check_arguments
from rmq_core.printing import spell_out


def main(arguments: Sequence[str] | None = None, program: str = "python -m console") -> None:
    """Runs one command. Ends the process with a sentence where the environment or an argument is not usable."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["up"]:
        from console.supervise.up import up  # without Django, which everything it starts loads for itself

        sys.exit(run(up, given[1:], f"{program} up"))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.config.settings")
    spell_out()
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line

        from console.config.environment import read_environment
    except ModuleNotFoundError as error:
        sys.exit(f"the console is not installed ({error}): pip install 'rmq-console[console,embedded]'")
    try:
        check_arguments(given)
        read_environment()
    except NotText as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    execute_from_command_line([program, *given])


if __name__ == "__main__":
    main()
