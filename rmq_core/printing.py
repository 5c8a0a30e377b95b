"""What programs print, where not all of it can be written in the encoding of whoever reads it."""

from __future__ import annotations

import io
import sys


def spell_out() -> None:
    """Has characters that standard output or error cannot hold, as in ISO 8859-1, spelled out (``\\u2603``).

    Else they would end a command after it has done its work, with a traceback.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")
