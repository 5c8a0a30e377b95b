"""Time zones by name: those that mean the same on every machine and in every browser."""

from __future__ import annotations

import zoneinfo

_OF_THE_MACHINE = frozenset({"Factory", "localtime", "posixrules"})
"""Files beside those of the zones, as are those in the folders ``posix`` and ``right``."""


def zone_of(name: str) -> zoneinfo.ZoneInfo | None:
    """None where this machine has no such zone, or only machines have one of that name."""
    try:
        if name in _OF_THE_MACHINE or name.startswith(("posix/", "right/")):
            return None
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None
