"""The audit's list of actions is what is written, no more and no less: read out of the code that writes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from django.test import Client

from console.access import Action
from console.config.environment import BASE_DIR
from console.models.audit import ACTIONS
from tests.console.conftest import Queue
from tests.console.test_pages import page_data

ASK = {"require", "allowed", "missing", "get"}
"""Calls that ask for a permission and write nothing."""
WRITE = {"audited", "_audited", "new_entry", "note", "_write_down"}
ELSEWHERE = {"access.py", "audit.py", "navigation.py"}


def written() -> set[str]:
    found: set[str] = set()
    for path in (BASE_DIR / "console").rglob("*.py"):
        text = path.read_text()
        writes = any(word in text for word in (*WRITE, "ActionRequest(", "PERFORMED"))
        if writes and path.name not in ELSEWHERE and "migrations" not in path.parts and "models" not in path.parts:
            found |= set(_of(ast.parse(text)))
    return found


def _of(tree: ast.AST) -> Iterator[str]:
    asked = {
        id(argument)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and _name(call.func) in ASK
        for argument in ast.walk(call)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="Action"), attr=name) if name.isupper() and id(node) not in asked:
                yield Action[name].value
            case ast.Call(func=func, args=args, keywords=keywords) if _name(func) in WRITE:
                given = [*args, *(each.value for each in keywords if each.arg in (None, "action"))]
                yield from (each.value for each in given if _is_word(each))
            case ast.Assign(targets=[ast.Name(id="ACTION")], value=ast.Constant(value=str(word))):
                yield word


def _name(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def _is_word(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in ACTIONS


def test_every_action_that_is_offered_is_written_somewhere() -> None:
    assert set(ACTIONS) - written() == set()


def test_nothing_else_is_written(queue: Queue, as_role: Callable[..., Client]) -> None:
    # `AuditEntry.save` refuses others, so whatever a test writes is in the list; the page offers the list.
    assert written() - set(ACTIONS) == set()
    offered = page_data(as_role("Admin").get("/audit/"))["actions"]
    assert [name for name, _ in offered] == list(ACTIONS)
    assert {"export", "resume_operation", "create_token", "revoke_token", "unfence"} <= set(ACTIONS)
    assert not {"purge", "tokens"} & set(ACTIONS)


def test_one_module_writes_them() -> None:
    makers = {
        path.relative_to(BASE_DIR).as_posix()
        for path in (BASE_DIR / "console").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("AuditEntry", "AuditEntry.objects.create")
    }
    assert makers == {"console/usecases/audit.py"}
