"""``objects:///…``: a folder of this machine that behaves as an object store does (see ``ObjectStore.java``).

The compiler that Spark brings makes it, in Spark's own process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LEFT = "objects.left"
_SOURCE = Path(__file__).with_name("ObjectStore.java")


def mount(session: Any) -> None:
    """From now on Spark knows the scheme; tasks, too, where they run in the same process."""
    jvm, settings = session._jvm, session.sparkContext._jsc.hadoopConfiguration()
    if settings.get("fs.objects.impl"):
        return
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(_SOURCE.read_text(encoding="utf-8"))
    settings.setClassLoader(compiler.getClassLoader())
    settings.set("fs.objects.impl", "tests.ObjectStore")
    settings.set("fs.AbstractFileSystem.objects.impl", "tests.ObjectStoreOfContexts")
    # Whoever asks next, be it a task with another class loader, gets the one that is made here.
    jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI.create("objects:///"), settings)


@contextmanager
def away_after(session: Any, changes: int) -> Iterator[None]:
    """Nobody reaches the store once so many changes were made inside: what a program that is killed then leaves."""
    system = session._jvm.java.lang.System
    system.setProperty(LEFT, str(changes))
    try:
        yield
    finally:
        system.clearProperty(LEFT)


def changes_left(session: Any) -> int:
    """How many more were allowed."""
    return int(session._jvm.java.lang.System.getProperty(LEFT))
