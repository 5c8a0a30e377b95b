"""Spark for tests: nearly all it does with a few rows is to plan and to begin, so whatever is meant for many is off."""

from __future__ import annotations

JAVA = " ".join(
    (
        *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
        # Room from the beginning: with less the collector runs all the time, and compiled code is thrown away.
        *("-Xms768m", "-Xmn384m", "-XX:MetaspaceSize=256m", "-XX:ReservedCodeCacheSize=240m"),
    )
)
"""For a driver."""

SETTINGS = {
    "spark.driver.extraJavaOptions": JAVA,
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
SUBMIT_ARGS = " ".join(f"--conf '{name}={value}'" for name, value in SETTINGS.items()) + " pyspark-shell"
"""The same as PYSPARK_SUBMIT_ARGS, for programs that start Spark by themselves."""
