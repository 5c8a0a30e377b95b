"""Names of Java, looked up once.

Py4J asks Java what each part of a name is, whenever it is used: in a small run thousands of times, for each column and
each list of columns anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def remember(session: SparkSession) -> None:
    """From now on this session's context knows the names it has used. Those of Spark Connect have none."""
    context: Any = session.sparkContext
    if type(context._jvm).__name__ != "JVMView":  # it does already, or Spark has changed how it looks for them
        return
    from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView  # type: ignore[import-untyped]

    def kept(holder: Any, name: str, found: Any) -> Any:
        if type(found) is JavaPackage and name.islower():  # else it may be a class that comes later
            found = Package(found._fqn, found._gateway_client, jvm_id=found._jvm_id)
        elif type(found) is JavaClass:
            found = Class(found._fqn, found._gateway_client)
        elif type(found) is not JavaMember:  # a value, which may change
            return found
        holder.__dict__[name] = found
        return found

    class View(JVMView):  # type: ignore[misc]
        def __init__(self, other: Any) -> None:
            self.__dict__.update(other.__dict__)

        def __getattr__(self, name: str) -> Any:
            return kept(self, name, super().__getattr__(name))

    class Package(JavaPackage):  # type: ignore[misc]
        def __getattr__(self, name: str) -> Any:
            return kept(self, name, super().__getattr__(name))

    class Class(JavaClass):  # type: ignore[misc]
        def __getattr__(self, name: str) -> Any:
            return kept(self, name, super().__getattr__(name))

    context._jvm = session._jvm = View(context._jvm)
