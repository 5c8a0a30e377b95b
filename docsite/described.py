"""Attributes that have a text below them, which Python itself forgets: ``name: type`` or ``self.name = …``."""

from __future__ import annotations

import ast
import inspect
import itertools


def attributes(owner: type) -> dict[str, str]:
    """Name → text."""
    found = {}
    for node in ast.walk(ast.parse(inspect.getsource(owner))):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for line, below in itertools.pairwise(body):
            target = line.targets[0] if isinstance(line, ast.Assign) else getattr(line, "target", None)
            name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", None)
            if name and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                found[name] = str(below.value.value)
    return found
