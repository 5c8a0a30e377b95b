"""Spark for tests: nearly all it does with a few rows is to plan and to begin, so whatever is meant for many is off."""

from __future__ import annotations

import importlib.util
from pathlib import Path

BRIEF = " ".join(
    (
        *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
        # Nobody doubts the classes of published jars, and proving each sound is a sixth of a short job.
        *("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),
    )
)
"""For any Java that lives for a test."""
# Room from the beginning: with less the collector runs all the time, and compiled code is thrown away.
JAVA = f"{BRIEF} -Xms768m -Xmn384m -XX:MetaspaceSize=256m -XX:ReservedCodeCacheSize=240m"
"""For a driver."""

MOST_CLASSES = ("scala-library", "spark-catalyst", "spark-sql", "spark-core", "hadoop-client-api", "spark-common-utils")


def asked_first() -> str:
    """A class path of the jars that have most of what is loaded: a class is looked for in all 280, one by one."""
    found = importlib.util.find_spec("pyspark")
    jars = Path(found.origin).parent / "jars" if found and found.origin else Path()
    return ":".join(str(jar) for name in MOST_CLASSES for jar in sorted(jars.glob(f"{name}[_-][0-9]*.jar")))


SETTINGS = {
    "spark.driver.extraJavaOptions": JAVA,
    "spark.driver.extraClassPath": asked_first(),
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Nobody reads the plans of a thousand queries, which are written down in full for a page that is off.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "10",
    # Whatever is broadcast for a join keeps a page until Java collects it, else of 16 MB and more: beside a dozen of
    # these nothing has room, and Java collects all there is again and again.
    "spark.buffer.pageSize": "1m",
    "spark.broadcast.compress": "false",
    "spark.shuffle.compress": "false",
}
SUBMIT_ARGS = " ".join(f"--conf '{name}={value}'" for name, value in SETTINGS.items()) + " pyspark-shell"
"""The same as PYSPARK_SUBMIT_ARGS, for programs that start Spark by themselves."""
