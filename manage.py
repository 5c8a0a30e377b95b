#!/usr/bin/env python3
"""Django's command line for the console; `manage.py up` starts everything."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    from console.environment import read_environment
    from rmq_core.model.text import NotText, check_arguments

    try:
        check_arguments(sys.argv[1:])
        read_environment()
    except (ImproperlyConfigured, NotText) as error:
        sys.exit(str(error))
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
