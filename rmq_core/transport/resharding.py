"""Calls whose keys are just being moved to another node of a Cluster.

While a hash slot is being moved, its old node serves a script only if every key of it is still there, its new node only
if every key is there already. A slot of ours nearly always lacks some key (no failures: no ``failed``), so neither
ever would, for as long as the move takes; and an interrupted move takes until somebody repairs it. So:

1. The old node is asked key by key. It answers ``ASK`` for one that is not there, and makes none while the move lasts.
2. What is still there is sent after the rest, as the move would do anyway: one ``MIGRATE``, once the mover has had
   `WAIT_FIRST_S`, and unless it is large.
3. When nothing is there, everything is on the new node, which runs the script on its behalf (``ASKING``), with one key
   declared instead of all. Before it does anything the script makes sure that all the others may be used.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple

from redis.exceptions import AskError, MovedError, ResponseError

from rmq_core.protocol.scripts import Call
from rmq_core.transport.nodes import Address, ClusterRoutes, Line, Routes
from rmq_core.transport.retry import Failed

WAIT_FIRST_S = 0.3
LARGE_BYTES = 64 * 1024 * 1024
"""Moving a key stops both nodes for a moment: more than this is left to whoever moves the slot."""
MIGRATE_MS = 3_000
ROUNDS = 4

# In one line: the numbers of a script's lines stay what they are in its error messages. Commands of several keys are
# cut into those of one, for the new node runs no other while a key is missing.
_UNDECLARED = """
local KEYS, ARGV = (function(given)
  local keys, args, count = {}, {}, tonumber(given[1])
  for i = 1, count do keys[i] = given[i + 1] end
  for i = count + 2, #given do args[i - count - 1] = given[i] end
  return keys, args
end)(ARGV)
local redis = (function(server)
  local several = {EXISTS = true, DEL = true, UNLINK = true}
  local function by_key(run)
    return function(name, ...)
      if not several[name] then return run(name, ...) end
      local sum = 0
      for _, key in ipairs({...}) do sum = sum + run(name, key) end
      return sum
    end
  end
  return setmetatable({call = by_key(server.call), pcall = by_key(server.pcall)}, {__index = server})
end)(redis)
for i = 1, #KEYS do
  local found = redis.pcall('TYPE', KEYS[i])
  if found.err then return redis.error_reply('TRYAGAIN ' .. found.err) end
end
return (function()
""".replace("\n", " ")
_END = "\nend)()"
"""The script is a function: its 200 locals, the most that Lua allows, are its own."""


class Outcome(NamedTuple):
    """The script's reply; or: the slot has settled, ask again at once; or: what is in the way."""

    reply: Any = None
    at_once: bool = False
    trouble: Exception | None = None
    sent: bool = False


Steps = Generator[Mapping[Line, Sequence[tuple[Any, ...]]], Mapping[Line, Sequence[Any] | Failed], Any]


def settle_move(call: Call, old: Line, error: Exception, routes: Routes) -> Steps:
    """Runs a call that the ``old`` node would not run for ``error``. Returns an `Outcome`."""
    if not isinstance(routes, ClusterRoutes) or old is None:
        return Outcome(trouble=error)
    slot = routes.hash_slot(call.keys[0])
    began = routes.first_seen.setdefault(slot, time.monotonic())
    for _ in range(ROUNDS):
        answers = yield {old: [("EXISTS", key) for key in call.keys]}
        answer = answers[old]
        if isinstance(answer, Failed):
            routes.doubt()
            return Outcome(trouble=answer.error)
        there = [key for key, found in zip(call.keys, answer, strict=True) if isinstance(found, int) and found]
        asked = [each for each in answer if isinstance(each, AskError) and not isinstance(each, MovedError)]
        gone = next((each for each in answer if isinstance(each, MovedError)), None)
        if gone is not None:
            routes.moved(gone)
            return Outcome(at_once=True)
        if not asked:  # nothing is moving (any more), or every key is there
            routes.first_seen.pop(slot, None)
            return Outcome(at_once=True) if isinstance(error, AskError) else Outcome(trouble=error)
        new = (asked[0].host or old[0], asked[0].port)
        if not there:
            return (yield from _run_there(call, new))
        if time.monotonic() - began < WAIT_FIRST_S or not (yield from _bring(there, old, new, routes)):
            return Outcome(trouble=error)
    return Outcome(trouble=error)


def _bring(keys: Sequence[str], old: Address, new: Address, routes: Routes) -> Steps:
    """Sends keys after those that have gone before; whether that went well."""
    answers = yield {old: [("MEMORY", "USAGE", key) for key in keys]}
    sizes = answers[old]
    if isinstance(sizes, Failed) or sum(size for size in sizes if isinstance(size, int)) > LARGE_BYTES:
        return False
    username, password = routes.credentials
    auth: tuple[str, ...] = ()
    if password:
        auth = ("AUTH2", username, password) if username else ("AUTH", password)
    move = ("MIGRATE", new[0], new[1], "", 0, MIGRATE_MS, *auth, "KEYS", *keys)
    answers = yield {old: [move]}
    answer = answers[old]
    return not isinstance(answer, Failed) and not isinstance(answer[0], ResponseError)


def _run_there(call: Call, new: Address) -> Steps:
    command = ("EVAL", _UNDECLARED + call.script.text + _END, 1, call.keys[0], *call.arguments())
    answers = yield {new: [("ASKING",), command]}
    answer = answers[new]
    if isinstance(answer, Failed):
        return Outcome(trouble=answer.error, sent=answer.sent)
    return Outcome(reply=answer[1])
