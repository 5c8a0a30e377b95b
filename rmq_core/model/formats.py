"""The numbers of the forms in which data is stored: a release refuses what it does not know, and says so.

Whoever changes a form so that this release would misread it raises its number. How each is stored:

- **namespace**: a key of its own (`Keyspace.format`), compared by every read and change of a definition; and where it
  is not 1, ``f<number> `` before the shape that slots are marked with, which every script compares.
- **journal**: the name of an entry's field; that of format 1 is ``v``, those of later ones are letters and a digit
  (``v2``): any other that stands beside a running number, somebody has added by hand.
- **archive**: the field ``format`` of the notes beside the events.
"""

from __future__ import annotations

import re

from rmq_core.errors import UnknownFormat

NAMESPACE = 1
JOURNAL = 1
ARCHIVE = 1

JOURNAL_FIELD = b"v"


HELD = 2
"""The format of slots with holds (``lua/shared/hold_marks.lua``), as long as they have any: who knows none would
hand out what they keep back. The next one of the namespace is 3."""

_LATER = re.compile(rb"f(\d+) ")
"""What precedes the shape that slots of a later format are marked with."""


def shape_of(topic: str, mark: bytes | None) -> str | None:
    """What a slot is marked with, without its format; a mark that somebody has spoiled fits none. Raises
    `UnknownFormat` for the mark of a slot of a later one."""
    later = _LATER.match(mark or b"")
    if later is not None and int(later[1]) != HELD:
        check(f"a slot of topic {topic!r}", int(later[1]), NAMESPACE)
    return None if mark is None else mark[later.end() if later else 0 :].decode(errors="replace")


def check(what: str, found: object, known: object) -> None:
    """Raises `UnknownFormat` for another number than the one this release knows."""
    if found != known:
        raise UnknownFormat(
            f"{what} is in format {found}, and this release knows format {known} only: nothing was read or changed."
            " Use the release that wrote it, or a newer one; see Upgrading in the documents"
        )
