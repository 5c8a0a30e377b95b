"""`manage.py rqworker`: the former name of `jobs`."""

from __future__ import annotations

from console.management.commands import jobs


class Command(jobs.Command):
    help = "The former name of `jobs`."
