"""The keys in Redis, as `rmq_core.protocol.keys` builds and describes them."""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Iterator

from docsite.tables import table
from rmq_core.protocol.keys import OWN_KEYS, Keyspace, SlotKeys

TOPIC, SLOT, ROLE = "price", 3, "keeper"


def of_slots() -> str:
    """One row for each key of slot 3 of the topic `price`."""
    keys, texts = Keyspace().slot(TOPIC, SLOT), dict(_described(SlotKeys))
    return table(["key", "holds"], [(f"`{getattr(keys, name)}`", texts[name]) for name in OWN_KEYS])


def of_topics() -> str:
    """What a topic has once, and the namespace."""
    keyspace = Keyspace()
    rows = [
        (f"`{getattr(keyspace, name)}`", text)
        for name, text in _described(Keyspace)
        if isinstance(getattr(keyspace, name, None), str)
    ]
    builders = (keyspace.hints, keyspace.limits, keyspace.owners, keyspace.journal_readers, keyspace.wake)
    rows += [(_names(build(TOPIC)), inspect.getdoc(build) or "") for build in builders]
    rows.append((_names(keyspace.election(ROLE)), inspect.getdoc(keyspace.election) or ""))
    return table(["key", "holds"], rows)


def _names(keys: str | tuple[str, ...]) -> str:
    return ", ".join(f"`{key}`" for key in ([keys] if isinstance(keys, str) else keys))


def _described(owner: type) -> Iterator[tuple[str, str]]:
    """Attributes that have a text below them, as ``name: type`` or ``self.name = …``."""
    for node in ast.walk(ast.parse(inspect.getsource(owner))):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for line, below in itertools.pairwise(body):
            target = line.target if isinstance(line, ast.AnnAssign) else line.targets[0] if _assigns(line) else None
            if target is not None and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
                yield name, str(below.value.value)


def _assigns(line: ast.stmt) -> bool:
    return isinstance(line, ast.Assign)
