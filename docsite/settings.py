"""The variables of the environment, as `console.config.environment` reads and describes them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from docsite import project
from docsite.described import attributes
from docsite.tables import table


def environment() -> str:
    """One row for each variable. One whose field nobody has described is a `KeyError`."""
    project.start()
    from console.config.environment import Environment, read_environment

    texts = attributes(Environment)
    rows = [
        (f"`{call.args[0].value}`", _default(call), texts[field])  # type: ignore[attr-defined]
        for field, call in _reads(ast.parse(inspect.getsource(read_environment)))
    ]
    return table(["variable", "default", "what"], sorted(rows))


def options() -> str:
    """One row for each key of the dictionary of a project that has the console as an app."""
    project.start()
    from console.options import Options

    texts = attributes(Options)
    rows = [(f"`{each.name.upper()}`", _usual(each), texts[each.name]) for each in fields(Options)]
    return table(["key", "default", "what"], rows)


def outbox() -> str:
    """One row for each key of the dictionary of a project that has the outbox."""
    project.start()
    from console.outbox.options import Options

    texts = attributes(Options)
    rows = [(f"`{each.name.upper()}`", _usual(each), texts[each.name]) for each in fields(Options)]
    return table(["key", "default", "what"], rows)


def tasks() -> str:
    """One row for each key of `OPTIONS` of a backend for tasks."""
    project.start()
    from console.tasks.options import Options

    texts = attributes(Options)
    rows = [(f"`{each.name.upper()}`", _usual(each), texts[each.name]) for each in fields(Options)]
    return table(["key", "default", "what"], rows)


def _usual(each: Field[Any]) -> str:
    if each.default_factory is not MISSING:
        return _shown(each.default_factory())
    return "needed" if each.default is MISSING else _shown(each.default)


def _shown(value: object) -> str:
    """What nobody has to write down is left out: an empty text or list, the folder one is in."""
    return f"`{value!r}`" if value and not isinstance(value, Path) else ""


def _reads(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Every ``env.kind("NAME", default, …)``, with the field it is for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            pairs = [(key.value, value) for key, value in zip(node.keys, node.values, strict=True) if _is_text(key)]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            pairs = [(node.targets[0].id, node.value)]
        else:
            continue
        for field, value in pairs:
            yield from ((field, each) for each in _calls(value))


def _calls(value: ast.AST) -> Iterator[ast.Call]:
    for node in [value, *([value.body] if isinstance(value, ast.IfExp) else [])]:
        function = getattr(node, "func", None)
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "env":
            yield node  # type: ignore[misc]


def _is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _default(call: ast.Call) -> str:
    """What is recorded as one; else the text says what happens."""
    try:
        value = ast.literal_eval(call.args[1])
    except (IndexError, ValueError):
        return ""
    value = ",".join(value) if isinstance(value, list) else value
    return f"`{value}`" if value not in ("", None, False) else ""
