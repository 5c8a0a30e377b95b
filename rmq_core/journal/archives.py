"""The names under which archives read journals.

Every archive is a reader of its own, named after its path: what one of them holds says nothing of another.
"""

from __future__ import annotations

import os
import re
from hashlib import blake2b

ALL_ARCHIVES = "archive"
"""The one name that archives of older releases shared, whatever their path; those of today begin with it."""


def reader_of(path: str) -> str:
    """The name of the archive at a path, however the path is written."""
    where = _plain(path)
    return _name(where if "://" in where else os.path.realpath(where))


def reader_as_written(path: str) -> str:
    """The name that releases gave it which did not look where a link leads."""
    where = _plain(path)
    return _name(where if "://" in where else os.path.abspath(where))  # noqa: PTH100 - a text, whatever is there


def is_archive(name: str) -> bool:
    """Whether a reader is an archive."""
    return name.split(".")[0] == ALL_ARCHIVES


def _plain(path: str) -> str:
    return re.sub("^file:(//)?(?=/)", "", path)


def _name(where: str) -> str:
    return f"{ALL_ARCHIVES}.{blake2b(where.rstrip('/').encode(errors='surrogateescape'), digest_size=6).hexdigest()}"
