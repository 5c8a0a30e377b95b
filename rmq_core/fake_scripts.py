"""Scripts in fakeredis at what they cost: it compiles each anew, and looks for garbage everywhere, at every call."""

from __future__ import annotations

from functools import cache
from typing import Any

_LOOK_FOR_GARBAGE = "collectgarbage()"
"""What it runs itself after each script; Lua does so, too, as it goes."""


class _Runtime:
    """A Lua runtime that keeps what it has compiled, as a server does."""

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime
        self._compiled = cache(runtime.compile)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def execute(self, code: bytes | str) -> Any:
        return None if code == _LOOK_FOR_GARBAGE else self._compiled(code)()


def keep_compiled(session: Any) -> None:
    """For the server of that session of fakeredis; where it is made otherwise than those we know, it stays slow."""
    server = session._server
    make = getattr(session, "_get_server_runtime", None)
    if make is not None and not isinstance(getattr(server, "_lua_runtime", None), _Runtime):
        server._lua_runtime = _Runtime(make(server))
